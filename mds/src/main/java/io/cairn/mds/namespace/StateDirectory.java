package io.cairn.mds.namespace;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where the database lies, and how a checkpoint takes its place without a moment in which a crash
 * loses both:
 *
 * <pre>
 *   incoming/   being copied; of no value after a crash
 *   ready/      complete and synced: takes the place of current/, now or at the next start
 *   current/    the database
 * </pre>
 */
final class StateDirectory {
    private final Path root;

    StateDirectory(Path root) {
        this.root = root;
    }

    /** The database's directory, after finishing what a crash interrupted. */
    Path recover() throws IOException {
        Files.createDirectories(root);
        delete(incoming());
        if (Files.exists(ready())) {
            promote();
        }
        return current();
    }

    /** Copies a checkpoint next to the database; files that never change are linked. */
    void receive(Path checkpoint) throws IOException {
        delete(incoming());
        delete(ready());
        Files.createDirectories(incoming());
        for (Path file : files(checkpoint)) {
            Path copy = incoming().resolve(file.getFileName().toString());
            if (file.getFileName().toString().endsWith(".sst")) {
                linkOrCopy(file, copy);
            } else {
                Files.copy(file, copy);
            }
        }
        sync(incoming());
        Files.move(incoming(), ready(), StandardCopyOption.ATOMIC_MOVE);
        syncDirectory(root);
    }

    /** Makes the received checkpoint the database, which must be closed. */
    Path promote() throws IOException {
        delete(current());
        Files.move(ready(), current(), StandardCopyOption.ATOMIC_MOVE);
        syncDirectory(root);
        return current();
    }

    private Path incoming() {
        return root.resolve("incoming");
    }

    private Path ready() {
        return root.resolve("ready");
    }

    private Path current() {
        return root.resolve("current");
    }

    /** Makes all files of a directory, and its entry in the one above, durable. */
    static void sync(Path directory) throws IOException {
        for (Path file : files(directory)) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }
        syncDirectory(directory);
        Path above = directory.toAbsolutePath().getParent();
        if (above != null) {
            syncDirectory(above);
        }
    }

    private static void syncDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        }
    }

    private static void linkOrCopy(Path from, Path to) throws IOException {
        try {
            Files.createLink(to, from);
        } catch (IOException | UnsupportedOperationException e) {
            Files.copy(from, to);
        }
    }

    private static void delete(Path tree) throws IOException {
        if (!Files.exists(tree)) {
            return;
        }
        Files.walkFileTree(
                tree,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                            throws IOException {
                        Files.delete(file);
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(
                            Path directory, @Nullable IOException e) throws IOException {
                        if (e != null) {
                            throw e;
                        }
                        Files.delete(directory);
                        return FileVisitResult.CONTINUE;
                    }
                });
    }
}
