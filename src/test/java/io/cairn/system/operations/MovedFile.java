package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * A file that is held open through two mounts, changed through both in turn, and compared with what
 * it should be as a third one reads it, past the page cache. One thread.
 */
final class MovedFile implements AutoCloseable {
    private static final int MAX_BYTES = 3 << 20;
    private static final int BLOCK = 4096;

    private final List<Path> paths;
    private final List<RandomAccessFile> open;

    /**
     * Of the first mount, which alone makes the file longer: one that may append does not ask
     * whether others did.
     */
    private final FileChannel appending;

    private final Random random;
    private byte[] model = {};
    private long operations;

    /**
     * @param paths of the same file in three mounts
     */
    MovedFile(List<Path> paths, long seed) throws IOException {
        this.paths = paths;
        this.random = new Random(seed);
        Files.createFile(paths.getFirst());
        open =
                List.of(
                        new RandomAccessFile(paths.get(0).toFile(), "rw"),
                        new RandomAccessFile(paths.get(1).toFile(), "rw"));
        appending = FileChannel.open(paths.getFirst(), StandardOpenOption.APPEND);
        write(0, MAX_BYTES / 2);
    }

    /** One change through one of the mounts, durable when this returns; now and then a look. */
    void step() throws IOException {
        operations++;
        int kind = random.nextInt(20);
        int length = 1 + random.nextInt(random.nextInt(8) == 0 ? 400_000 : 9_000);
        if (kind < 11) {
            write(random.nextInt(Math.min(model.length + 20_000, MAX_BYTES - length)), length);
        } else if (kind < 15) {
            append(length);
        } else if (kind < 17 && model.length > 0) {
            truncate(random.nextInt(model.length));
        } else {
            check();
        }
    }

    private byte[] content(int length) {
        byte[] content = new byte[length];
        random.nextBytes(content);
        return content;
    }

    private void write(int offset, int length) throws IOException {
        byte[] content = content(length);
        int mount = offset + length <= model.length ? random.nextInt(2) : 0;
        FileChannel through = open.get(mount).getChannel();
        ByteBuffer left = ByteBuffer.wrap(content);
        while (left.hasRemaining()) {
            through.write(left, offset + (long) left.position());
        }
        through.force(false);
        model = Arrays.copyOf(model, Math.max(model.length, offset + length));
        System.arraycopy(content, 0, model, offset, length);
    }

    private void append(int length) throws IOException {
        if (model.length + length > MAX_BYTES) {
            truncate(MAX_BYTES / 4);
        }
        byte[] content = content(length);
        ByteBuffer left = ByteBuffer.wrap(content);
        while (left.hasRemaining()) {
            appending.write(left);
        }
        appending.force(false);
        int at = model.length;
        model = Arrays.copyOf(model, at + length);
        System.arraycopy(content, 0, model, at, length);
    }

    private void truncate(int size) throws IOException {
        open.get(random.nextInt(2)).setLength(size); // whatever size that mount knows
        model = Arrays.copyOf(model, size);
    }

    /** All of it, as the data servers have it. */
    void check() throws IOException {
        try (FileChannel direct =
                FileChannel.open(
                        paths.get(2), StandardOpenOption.READ, ExtendedOpenOption.DIRECT)) {
            ByteBuffer read = ByteBuffer.allocateDirect(MAX_BYTES + 2 * BLOCK).alignedSlice(BLOCK);
            read.limit(read.capacity() / BLOCK * BLOCK);
            int bytes = 0;
            while (bytes % BLOCK == 0) {
                int more = direct.read(read.position(bytes), bytes);
                if (more <= 0) {
                    break;
                }
                bytes += more;
            }
            byte[] found = new byte[bytes];
            read.position(0).get(found);
            assertThat(bytes)
                    .as("size of %s after %d operations", paths.get(2), operations)
                    .isEqualTo(model.length);
            assertThat(Arrays.mismatch(found, model))
                    .as("first difference in %s after %d operations", paths.get(2), operations)
                    .isNegative();
        }
    }

    long operations() {
        return operations;
    }

    @Override
    public void close() throws IOException {
        for (RandomAccessFile file : open) {
            file.close();
        }
        appending.close();
    }
}
