package io.cairn.common.jmx;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads files that others may not read, or not write. Any thread. */
final class PrivateFiles {
    private PrivateFiles() {}

    /**
     * The lines {@code name value} of a file by name; empty lines and those that begin with {@code
     * #} are comments. Whitespace stands between the two and may stand around them.
     */
    static Map<String, String> table(String key, Path file, String form) throws IOException {
        Map<String, String> table = new LinkedHashMap<>();
        List<String> lines = lines(key, file);
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            String[] words = line.split("\\s+", -1);
            if (words.length != 2 || table.putIfAbsent(words[0], words[1]) != null) {
                throw new JmxRefusedException(
                        "%s:%d: (%s) a line must be '%s', each name once"
                                .formatted(file, i + 1, key, form));
            }
        }
        return table;
    }

    /** The first line: the password of a keystore. */
    static char[] password(String key, Path file) throws IOException {
        requireSecret(key, file);
        List<String> lines = lines(key, file);
        if (lines.isEmpty() || lines.getFirst().isEmpty()) {
            throw new JmxRefusedException(file + ": (" + key + ") is empty");
        }
        return lines.getFirst().toCharArray();
    }

    /** Refuses a file that others than its owner may read or write. */
    static void requireSecret(String key, Path file) throws IOException {
        refuse(
                key,
                file,
                "others than its owner may read or write it: chmod 600 " + file,
                PosixFilePermission.GROUP_READ,
                PosixFilePermission.GROUP_WRITE,
                PosixFilePermission.OTHERS_READ,
                PosixFilePermission.OTHERS_WRITE);
    }

    /** Refuses a file that others than its owner may write. */
    static void requireOwnersOnlyToWrite(String key, Path file) throws IOException {
        refuse(
                key,
                file,
                "others than its owner may write it: chmod go-w " + file,
                PosixFilePermission.GROUP_WRITE,
                PosixFilePermission.OTHERS_WRITE);
    }

    private static void refuse(
            String key, Path file, String problem, PosixFilePermission... forbidden)
            throws IOException {
        Set<PosixFilePermission> permissions;
        try {
            permissions = Files.getPosixFilePermissions(file);
        } catch (IOException e) {
            throw unreadable(key, file, e);
        }
        if (Arrays.stream(forbidden).anyMatch(permissions::contains)) {
            throw new JmxRefusedException(file + ": (" + key + ") " + problem);
        }
    }

    private static List<String> lines(String key, Path file) throws IOException {
        try {
            return Files.readAllLines(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw unreadable(key, file, e);
        }
    }

    static JmxRefusedException unreadable(String key, Path file, IOException e) {
        String why =
                switch (e) {
                    case NoSuchFileException _ -> "there is no such file";
                    case AccessDeniedException _ -> "permission denied";
                    case MalformedInputException _ -> "is not text in UTF-8";
                    default -> String.valueOf(e.getMessage());
                };
        return new JmxRefusedException(file + ": (" + key + ") " + why, e);
    }
}
