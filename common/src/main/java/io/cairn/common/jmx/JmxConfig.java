package io.cairn.common.jmx;

import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import java.nio.file.Path;
import java.util.Optional;

/** Who may log in at {@code jmx_address}, and what protects the connection. */
public record JmxConfig(
        @Key(
                        value =
                                "Who may log in: a line `name password` for each, in a file that only"
                                        + " its owner may read. It is read at each login.",
                        example = "/etc/cairn/jmx.password")
                Optional<Path> passwordFile,
        @Key(
                        value =
                                "What they may do: a line `name readwrite` lets a user set attributes"
                                        + " and call operations of beans, which is as good as being the"
                                        + " server. Who does not stand there, or with `readonly`, only"
                                        + " reads. It is read at each login.",
                        example = "/etc/cairn/jmx.access")
                Optional<Path> accessFile,
        @Key(
                        value =
                                "Connections use TLS, with the key and certificate of this file"
                                        + " (PKCS12 or JKS). It is read at the start.",
                        example = "/etc/cairn/jmx.p12")
                Optional<Path> keystore,
        @Key(
                        value =
                                "The file whose first line is the keystore's password; only its owner"
                                        + " may read it.",
                        example = "/etc/cairn/jmx.p12.password")
                Optional<Path> keystorePasswordFile,
        @Key(
                        value =
                                "Only clients with a certificate that one of these has signed, or that is"
                                        + " one of these, may connect.",
                        example = "/etc/cairn/jmx.trust.p12")
                Optional<Path> truststore,
        @Key(
                        value = "As `keystore_password_file`, of the truststore.",
                        example = "/etc/cairn/jmx.trust.password")
                Optional<Path> truststorePasswordFile,
        @Key(
                        value =
                                "Allows an address that others can reach without TLS, or without both"
                                        + " `password_file` and `truststore`: whoever reaches it may read all"
                                        + " beans, and passwords cross the network in clear text.",
                        defaultValue = "false")
                boolean allowInsecure) {

    public JmxConfig {
        KeyException.require(
                accessFile.isEmpty() || passwordFile.isPresent(),
                "access_file",
                "needs password_file: without passwords nobody has a name");
        KeyException.require(
                keystore.isPresent() == keystorePasswordFile.isPresent(),
                "keystore",
                "needs keystore_password_file, and the other way round");
        KeyException.require(
                truststore.isPresent() == truststorePasswordFile.isPresent(),
                "truststore",
                "needs truststore_password_file, and the other way round");
        KeyException.require(
                truststore.isEmpty() || keystore.isPresent(),
                "truststore",
                "needs keystore: certificates are part of TLS");
    }

    /** Neither passwords nor TLS: for addresses that only this machine reaches. */
    public static JmxConfig none() {
        return new JmxConfig(
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                false);
    }

    boolean tls() {
        return keystore.isPresent();
    }

    /** Whether clients need a certificate. */
    boolean clientAuth() {
        return truststore.isPresent();
    }

    /** Whether a client must prove who it is. */
    boolean authenticates() {
        return passwordFile.isPresent() || clientAuth();
    }
}
