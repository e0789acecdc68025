package io.cairn.common.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A directory and all below it; symbolic links are not followed. Stateless, any thread. */
public final class FileTree {
    private FileTree() {}

    /** Removes the path and all below it; nothing there is fine. */
    public static void delete(Path root) throws IOException {
        for (Path path : depthFirst(root)) {
            Files.deleteIfExists(path);
        }
    }

    /** All regular files below the path, in a stable order. */
    public static List<Path> files(Path root) throws IOException {
        try (Stream<Path> paths = Files.walk(root)) {
            return paths.filter(Files::isRegularFile).sorted().toList();
        }
    }

    /** What is in the directory itself; empty if it is none. */
    public static List<Path> children(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> paths = Files.list(directory)) {
            return paths.toList();
        }
    }

    /** The path and all below it, children before their directory; empty if nothing is there. */
    static List<Path> depthFirst(Path root) throws IOException {
        try (Stream<Path> paths = Files.walk(root)) {
            return paths.sorted(Comparator.reverseOrder()).toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }
}
