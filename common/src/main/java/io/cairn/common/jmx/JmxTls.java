package io.cairn.common.jmx;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Makes the context of TLS from the files that the configuration names. */
final class JmxTls {
    private JmxTls() {}

    /**
     * Null without a keystore.
     *
     * @throws JmxRefusedException naming the file that cannot be used
     */
    static @Nullable SSLContext context(JmxConfig config) throws IOException {
        Optional<Path> keystore = config.keystore();
        if (keystore.isEmpty()) {
            return null;
        }
        try {
            char[] password =
                    PrivateFiles.password(
                            "jmx.keystore_password_file",
                            config.keystorePasswordFile().orElseThrow());
            PrivateFiles.requireSecret("jmx.keystore", keystore.get());
            KeyManagerFactory keys =
                    KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(load("jmx.keystore", keystore.get(), password), password);
            TrustManager @Nullable [] trusted = null;
            if (config.clientAuth()) {
                char[] trustPassword =
                        PrivateFiles.password(
                                "jmx.truststore_password_file",
                                config.truststorePasswordFile().orElseThrow());
                TrustManagerFactory trust =
                        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init(
                        load("jmx.truststore", config.truststore().orElseThrow(), trustPassword));
                trusted = trust.getTrustManagers();
            }
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), trusted, null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new JmxRefusedException(
                    "%s: (jmx.keystore) cannot be used: %s"
                            .formatted(keystore.get(), e.getMessage()),
                    e);
        }
    }

    private static KeyStore load(String key, Path file, char[] password)
            throws IOException, GeneralSecurityException {
        KeyStore store;
        try (InputStream in = Files.newInputStream(file)) {
            store = KeyStore.getInstance("PKCS12"); // reads JKS too
            store.load(in, password);
        } catch (IOException e) {
            throw PrivateFiles.unreadable(key, file, e);
        }
        if (store.size() == 0) {
            throw new JmxRefusedException(file + ": (" + key + ") is empty");
        }
        return store;
    }
}
