package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A range of the cells of a chunk. A cell is the least that clients write, read or cut: what is in
 * it says who wrote it.
 *
 * @param end behind the last one
 */
record Cells(int first, int end) {
    static final int BYTES = 2 * Long.BYTES;
    private static final int PER_BLOCK = SimClient.BLOCK / BYTES;
    static final int PER_CHUNK = SimClient.BLOCKS * PER_BLOCK;
    static final Cells ALL = new Cells(0, PER_CHUNK);

    /** So far from the edge of a block is near it. */
    private static final int NEAR = 4;

    static Cells of(DataOp op) {
        return new Cells(op.offset() / BYTES, (op.offset() + op.length()) / BYTES);
    }

    /** What a file of this size has not of the chunk. */
    static Cells beyond(long size, int chunk) {
        return new Cells(SimClient.STRIPING.chunkLength(size, chunk) / BYTES, PER_CHUNK);
    }

    /** Whole blocks, or any cells: most lengths are short, and any may be. */
    static Cells any(Random random) {
        if (random.nextInt(4) == 0) {
            int block = random.nextInt(SimClient.BLOCKS);
            int blocks = 1 + random.nextInt(SimClient.BLOCKS - block);
            return new Cells(block * PER_BLOCK, (block + blocks) * PER_BLOCK);
        }
        int first = anyCell(random);
        int most = Math.min(2 << random.nextInt(9), PER_CHUNK - first);
        return new Cells(first, first + 1 + random.nextInt(most));
    }

    /** Three of four are near the edge of a block, where operations meet. */
    static int anyCell(Random random) {
        if (random.nextInt(4) == 0) {
            return random.nextInt(PER_CHUNK);
        }
        int edge = random.nextInt(SimClient.BLOCKS + 1) * PER_BLOCK;
        return Math.clamp(edge - NEAR + random.nextInt(2 * NEAR + 1), 0, PER_CHUNK - 1);
    }

    /** Bytes of the chunk before it. */
    int offset() {
        return first * BYTES;
    }

    int length() {
        return count() * BYTES;
    }

    int count() {
        return end - first;
    }

    boolean isEmpty() {
        return first >= end;
    }

    /** What both have; empty if that is nothing. */
    Cells with(Cells other) {
        return new Cells(Math.max(first, other.first), Math.min(end, other.end));
    }

    /** The cells that it has before this one. */
    Cells before(int cell) {
        return new Cells(first, Math.min(end, cell));
    }

    /** The cells that it has from this one on. */
    Cells from(int cell) {
        return new Cells(Math.max(first, cell), end);
    }

    /** The blocks that it touches. */
    IntStream blocks() {
        return IntStream.rangeClosed(first / PER_BLOCK, (end - 1) / PER_BLOCK);
    }

    /** What a write writes says who wrote it, in each cell. */
    ByteBuf content(long session, long number) {
        ByteBuf bytes = Unpooled.buffer(length());
        for (int cell = first; cell < end; cell++) {
            bytes.writeLong(session).writeLong(number);
        }
        return Unpooled.unreleasableBuffer(bytes);
    }

    @Override
    public String toString() {
        return first + " to " + (end - 1);
    }
}
