package io.cairn.common.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Files and directory entries that are on the disk when the call returns. Stateless, any thread.
 */
public final class Durable {
    private Durable() {}

    /** Replaces a small file as a whole. */
    public static void write(Path file, String text) throws IOException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try (FileChannel channel =
                FileChannel.open(
                        part,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.TRUNCATE_EXISTING)) {
            ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
        syncParent(file);
    }

    /**
     * Hard link to a file, or to the one a symbolic link leads to, or a copy where the two lie on
     * different file systems. The directory is not synced.
     */
    public static void linkOrCopy(Path from, Path to) throws IOException {
        try {
            Files.createLink(to, from.toRealPath());
        } catch (FileSystemException | UnsupportedOperationException e) {
            copy(from, to, Files.size(from));
        }
    }

    /** Copies the first {@code length} bytes and syncs the copy. */
    public static void copy(Path from, Path to, long length) throws IOException {
        try (FileChannel in = FileChannel.open(from, StandardOpenOption.READ);
                FileChannel out =
                        FileChannel.open(
                                to, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            long done = 0;
            while (done < length) {
                long n = in.transferTo(done, length - done, out);
                if (n <= 0) {
                    throw new IOException(from + " is shorter than " + length + " bytes");
                }
                done += n;
            }
            out.force(true);
        }
    }

    /** fsyncs one file, or the names in one directory. */
    public static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** fsyncs every file and directory below and including the path, children first. */
    public static void syncTree(Path root) throws IOException {
        for (Path path : FileTree.depthFirst(root)) {
            sync(path);
        }
    }

    /** fsyncs the directory that the path's name is in. */
    public static void syncParent(Path path) throws IOException {
        @Nullable Path parent = path.toAbsolutePath().getParent();
        if (parent != null) {
            sync(parent);
        }
    }
}
