package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.layout.Striping;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.Random;

/**
 * A file as an array in memory, changed together with one of a known layout, most often at the
 * borders of its stripe units and chunks. One thread.
 */
final class StripedModel {
    private static final int BLOCK = 4096;

    /** Longer reads and writes are another test's affair: they only take time. */
    private static final int MAX_LENGTH = 1 << 20;

    private final Striping striping;
    private final Random random;
    private final int limit;
    private byte[] contents = new byte[0];

    /**
     * @param limit bytes that the file never exceeds
     */
    StripedModel(Striping striping, Random random, int limit) {
        this.striping = striping;
        this.random = random;
        this.limit = limit;
    }

    byte[] contents() {
        return contents;
    }

    /**
     * Writes, cuts or grows the file.
     *
     * @return what was done, for messages
     */
    String step(RandomAccessFile file) throws IOException {
        return switch (random.nextInt(10)) {
            case 0 -> resize(file, random.nextInt(contents.length + 1));
            case 1 -> resize(file, Math.min(limit, contents.length + length()));
            case 2 -> write(file, contents.length); // append
            default -> write(file, border());
        };
    }

    private String resize(RandomAccessFile file, int size) throws IOException {
        String step = contents.length + " bytes become " + size;
        file.setLength(size);
        contents = Arrays.copyOf(contents, size);
        return step;
    }

    private String write(RandomAccessFile file, int at) throws IOException {
        byte[] bytes = new byte[Math.min(length(), limit - at)];
        random.nextBytes(bytes);
        ByteBuffer source = ByteBuffer.wrap(bytes);
        while (source.hasRemaining()) {
            file.getChannel().write(source, at + source.position());
        }
        if (contents.length < at + bytes.length) {
            contents = Arrays.copyOf(contents, at + bytes.length);
        }
        System.arraycopy(bytes, 0, contents, at, bytes.length);
        return "write of " + bytes.length + " at " + at;
    }

    /** A byte at or close to where a unit, a stripe, a chunk or a set of chunks begins. */
    private int border() {
        int unit = striping.stripeUnit();
        long[] sizes = {
            unit,
            (long) unit * striping.stripeCount(),
            striping.chunkSize(),
            (long) striping.chunkSize() * striping.stripeCount()
        };
        long size = sizes[random.nextInt(sizes.length)];
        long at = random.nextLong(limit / size + 1) * size;
        return (int) Math.clamp(at + random.nextInt(-3, 4), 0, limit - 1);
    }

    /** Bytes of a read or write: few, about one unit, or about several. */
    private int length() {
        int unit = striping.stripeUnit();
        return switch (random.nextInt(4)) {
            case 0 -> 1 + random.nextInt(16);
            case 1 -> Math.clamp(unit + random.nextInt(-1, 2), 1, MAX_LENGTH);
            case 2 ->
                    Math.clamp(
                            (long) unit * (1 + random.nextInt(2 * striping.stripeCount()))
                                    + random.nextInt(-5, 6),
                            1,
                            MAX_LENGTH);
            default -> 1 + random.nextInt(3 * BLOCK);
        };
    }

    /** Reads a range, beyond the end of the file too. */
    void checkSomewhere(String what, FileChannel file) throws IOException {
        check(what, file, border(), ByteBuffer.allocate(length()));
    }

    /** Whole blocks, for channels that bypass the page cache. */
    void checkBlocksSomewhere(String what, FileChannel file) throws IOException {
        int at = border() / BLOCK * BLOCK;
        check(what, file, at, blocks(length()));
    }

    void checkAll(String what, FileChannel file) throws IOException {
        assertThat(file.size()).as(what).isEqualTo(contents.length);
        for (int at = 0; at < contents.length; at += MAX_LENGTH) {
            check(what, file, at, blocks(MAX_LENGTH));
        }
    }

    private static ByteBuffer blocks(int bytes) {
        int whole = Math.ceilDiv(bytes, BLOCK) * BLOCK;
        return ByteBuffer.allocateDirect(whole + BLOCK).alignedSlice(BLOCK).limit(whole);
    }

    private void check(String what, FileChannel file, int at, ByteBuffer read) throws IOException {
        int expected = Math.clamp(contents.length - at, 0, read.limit());
        while (read.position() < expected) {
            if (file.read(read, at + read.position()) <= 0) {
                break;
            }
        }
        String range = what + ": read of " + read.limit() + " at " + at;
        assertThat(read.position()).as("%s: bytes", range).isEqualTo(expected);
        ByteBuffer there = ByteBuffer.wrap(contents, Math.min(at, contents.length), expected);
        int wrong = there.mismatch(read.flip());
        assertThat(wrong).as("%s: first wrong byte", range).isEqualTo(-1);
    }
}
