package io.cairn.mds.raft;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** What {@link Files} lacks: fsync of files and directories, whole trees. Stateless, any thread. */
final class Durable {
    private Durable() {}

    /** fsyncs one file or directory. */
    static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** fsyncs every file and directory below and including the path, children first. */
    static void syncTree(Path root) throws IOException {
        for (Path path : depthFirst(root)) {
            sync(path);
        }
    }

    /** Removes the path and all below it; nothing there is fine. */
    static void deleteTree(Path root) throws IOException {
        for (Path path : depthFirst(root)) {
            Files.deleteIfExists(path);
        }
    }

    /** All regular files below the path, in a stable order. */
    static List<Path> files(Path root) throws IOException {
        try (Stream<Path> paths = Files.walk(root)) {
            return paths.filter(Files::isRegularFile).sorted().toList();
        }
    }

    private static List<Path> depthFirst(Path root) throws IOException {
        try (Stream<Path> paths = Files.walk(root)) {
            return paths.sorted(Comparator.reverseOrder()).toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }
}
