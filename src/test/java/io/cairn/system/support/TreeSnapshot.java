package io.cairn.system.support;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Everything about a directory tree that a copy must keep: names, types, modes, owners,
 * modification times, link counts and which names share an inode, symlink targets, user xattrs,
 * contents.
 */
public final class TreeSnapshot {
    private final Map<String, String> entries = new TreeMap<>();

    private TreeSnapshot() {}

    public static TreeSnapshot of(Path root) {
        TreeSnapshot snapshot = new TreeSnapshot();
        Map<Long, String> firstNames = new HashMap<>();
        try {
            Files.walkFileTree(
                    root,
                    new SimpleFileVisitor<>() {
                        @Override
                        public FileVisitResult preVisitDirectory(
                                Path directory, BasicFileAttributes attributes) throws IOException {
                            return add(directory);
                        }

                        @Override
                        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                                throws IOException {
                            return add(file);
                        }

                        private FileVisitResult add(Path path) throws IOException {
                            String name = root.relativize(path).toString();
                            snapshot.entries.put(name, describe(path, name, firstNames));
                            return FileVisitResult.CONTINUE;
                        }
                    });
        } catch (IOException e) {
            throw new AssertionError("cannot read " + root, e);
        }
        return snapshot;
    }

    public int size() {
        return entries.size();
    }

    /** Fails with the first differences. */
    public void assertSameAs(TreeSnapshot expected) {
        List<String> differences = new ArrayList<>();
        expected.entries.forEach((name, description) -> {
            String mine = entries.get(name);
            if (!description.equals(mine)) {
                differences.add(name + "\n  expected " + description + "\n  found    " + mine);
            }
        });
        entries.keySet().stream()
                .filter(name -> !expected.entries.containsKey(name))
                .forEach(name -> differences.add(name + " should not exist"));
        if (!differences.isEmpty()) {
            throw new AssertionError(
                    differences.size()
                            + " differences, the first:\n"
                            + String.join(
                                    "\n",
                                    differences.subList(0, Math.min(20, differences.size()))));
        }
    }

    private static String describe(Path path, String name, Map<Long, String> firstNames)
            throws IOException {
        Map<String, Object> a = Files.readAttributes(path, "unix:*", LinkOption.NOFOLLOW_LINKS);
        boolean directory = Boolean.TRUE.equals(a.get("isDirectory"));
        StringBuilder text = new StringBuilder();
        text.append(Integer.toOctalString((Integer) attribute(a, "mode")));
        text.append(' ').append(a.get("uid")).append(':').append(a.get("gid"));
        text.append(" rdev ").append(a.get("rdev"));
        text.append(" mtime ").append(((FileTime) attribute(a, "lastModifiedTime")).toInstant());
        text.append(" nlink ").append(directory ? "-" : a.get("nlink"));
        if (Boolean.TRUE.equals(a.get("isSymbolicLink"))) {
            return text.append(" -> ").append(Files.readSymbolicLink(path)).toString();
        }
        boolean regular = Boolean.TRUE.equals(a.get("isRegularFile"));
        if (regular || directory) { // Java opens the file for them, which waits on a FIFO
            text.append(" xattrs ").append(xattrs(path));
        }
        if (Boolean.TRUE.equals(a.get("isRegularFile"))) {
            String first = firstNames.putIfAbsent((Long) attribute(a, "ino"), name);
            text.append(" same inode as ").append(first == null ? name : first);
            text.append(" size ").append(a.get("size")).append(' ').append(digest(path));
        }
        return text.toString();
    }

    private static Object attribute(Map<String, Object> attributes, String name) {
        return Objects.requireNonNull(attributes.get(name), name);
    }

    private static Map<String, String> xattrs(Path path) throws IOException {
        Map<String, String> values = new TreeMap<>();
        UserDefinedFileAttributeView view =
                Files.getFileAttributeView(path, UserDefinedFileAttributeView.class);
        if (view == null) {
            return values;
        }
        for (String name : view.list()) {
            ByteBuffer value = ByteBuffer.allocate(view.size(name));
            view.read(name, value);
            values.put(name, HexFormat.of().formatHex(value.array()));
        }
        return values;
    }

    private static String digest(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            byte[] buffer = new byte[1 << 16];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                sha.update(buffer, 0, n);
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
