package io.cairn.common.jmx;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.rmi.server.RemoteServer;
import java.rmi.server.ServerNotActiveException;
import java.security.MessageDigest;
import java.security.Principal;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.management.remote.JMXAuthenticator;
import javax.management.remote.JMXPrincipal;
import javax.security.auth.Subject;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides who logs in, by the files as they are at this moment: a password that was changed counts
 * from the next login on, and connections that are there stay. Any thread.
 */
final class JmxUsers implements JMXAuthenticator {
    private static final Logger LOG = LoggerFactory.getLogger(JmxUsers.class);

    private final Path passwordFile;
    private final Optional<Path> accessFile;

    /** What a user has who may change beans. */
    record ReadWrite() implements Principal {
        @Override
        public String getName() {
            return "readwrite";
        }
    }

    JmxUsers(Path passwordFile, Optional<Path> accessFile) {
        this.passwordFile = passwordFile;
        this.accessFile = accessFile;
    }

    /**
     * Reads both files, so that what is wrong with them is known at the start.
     *
     * @throws JmxRefusedException naming the file and what to do
     */
    void check() throws IOException {
        if (passwords().isEmpty()) {
            throw new JmxRefusedException(
                    passwordFile
                            + ": (jmx.password_file) names nobody: write a line 'name password'");
        }
        var _ = access();
    }

    @Override
    public Subject authenticate(@Nullable Object credentials) {
        if (!(credentials instanceof String[] words)
                || words.length != 2
                || words[0] == null
                || words[1] == null) {
            throw refused("somebody without name and password");
        }
        String name = words[0];
        String password;
        boolean readWrite;
        try {
            password = passwords().get(name);
            readWrite = "readwrite".equals(access().get(name));
        } catch (IOException e) {
            LOG.error("nobody can log in by JMX: {}", e.getMessage());
            throw refused("somebody");
        }
        if (password == null || !isEqual(password, words[1])) {
            throw refused(name.matches("[\\p{Alnum}._@-]{1,64}") ? name : "somebody");
        }
        JMXPrincipal user = new JMXPrincipal(name);
        return new Subject(
                true, readWrite ? Set.of(user, new ReadWrite()) : Set.of(user), Set.of(), Set.of());
    }

    private Map<String, String> passwords() throws IOException {
        PrivateFiles.requireSecret("jmx.password_file", passwordFile);
        return PrivateFiles.table("jmx.password_file", passwordFile, "name password");
    }

    private Map<String, String> access() throws IOException {
        if (accessFile.isEmpty()) {
            return Map.of();
        }
        Path file = accessFile.get();
        PrivateFiles.requireOwnersOnlyToWrite("jmx.access_file", file);
        Map<String, String> access =
                PrivateFiles.table("jmx.access_file", file, "name readonly|readwrite");
        for (String word : access.values()) {
            if (!word.equals("readonly") && !word.equals("readwrite")) {
                throw new JmxRefusedException(
                        "%s: (jmx.access_file) '%s' is neither readonly nor readwrite"
                                .formatted(file, word));
            }
        }
        return access;
    }

    private static boolean isEqual(String one, String other) {
        return MessageDigest.isEqual(
                one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    /** The client is not told whether the name or the password was wrong. */
    private static SecurityException refused(String who) {
        LOG.warn("JMX: {} at {} is not let in", who, client());
        return new SecurityException("wrong name or password for JMX");
    }

    private static String client() {
        try {
            return RemoteServer.getClientHost();
        } catch (ServerNotActiveException e) {
            return "an unknown address";
        }
    }
}
