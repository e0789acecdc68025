package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of a block group, little-endian.
 *
 * <pre>
 *  0 u64 bit i: block i is stored
 *  8 u64 bit i: block i is damaged
 * 16 u32 number of runs; bit 31: sequences follow the checksums
 * 20     runs, together all stored blocks in order: u64 first block, u32 count
 *        CRC32C u32 of each stored block in order
 *        with bit 31: u64 newest sequence of all stored blocks, and of each in order
 *        by how much its own is less, LEB128
 *        u32 CRC32C of everything before
 * </pre>
 *
 * Without sequences if none is known.
 */
public final class BlockGroupFormat {
    static final int FIXED_BYTES = 20;
    private static final int RUN_BYTES = 12;
    private static final int BLOCK_CRC_BYTES = 4;

    private static final int STORED_OFFSET = 0;
    private static final int DAMAGED_OFFSET = 8;
    private static final int RUNS_OFFSET = 16;
    private static final int SEQUENCES = 1 << 31;
    private static final int NEWEST_BYTES = 8;

    private BlockGroupFormat() {}

    static byte[] encode(BlockGroup g) {
        long stored = 0;
        long damaged = 0;
        int blocks = 0;
        int runs = 0;
        long next = -1;
        long newest = newest(g);
        int sequences = newest == 0 ? 0 : NEWEST_BYTES;
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (g.stored(i)) {
                stored |= 1L << i;
                blocks++;
                sequences += newest == 0 ? 0 : Leb128.length(newest - g.changed(i));
                runs += g.location(i) == next ? 0 : 1;
                next = g.location(i) + 1;
            } else if (g.location(i) == BlockGroup.DAMAGED) {
                damaged |= 1L << i;
            }
        }
        ByteBuffer b =
                IndexValue.allocate(
                        FIXED_BYTES + runs * RUN_BYTES + blocks * BLOCK_CRC_BYTES + sequences);
        b.putLong(STORED_OFFSET, stored).putLong(DAMAGED_OFFSET, damaged);
        b.putInt(RUNS_OFFSET, newest == 0 ? runs : runs | SEQUENCES);
        b.position(FIXED_BYTES);
        putRuns(b, g);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (g.stored(i)) {
                b.putInt(g.crc(i));
            }
        }
        if (newest != 0) {
            putSequences(b, g, newest);
        }
        return IndexValue.seal(b);
    }

    private static long newest(BlockGroup g) {
        long newest = 0;
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            newest = g.stored(i) ? Math.max(newest, g.changed(i)) : newest;
        }
        return newest;
    }

    private static void putSequences(ByteBuffer b, BlockGroup g, long newest) {
        b.putLong(newest);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (g.stored(i)) {
                Leb128.put(b, newest - g.changed(i));
            }
        }
    }

    private static void putRuns(ByteBuffer b, BlockGroup g) {
        long first = 0;
        int count = 0;
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (!g.stored(i)) {
                continue;
            }
            if (count > 0 && g.location(i) == first + count) {
                count++;
                continue;
            }
            if (count > 0) {
                b.putLong(first).putInt(count);
            }
            first = g.location(i);
            count = 1;
        }
        if (count > 0) {
            b.putLong(first).putInt(count);
        }
    }

    static BlockGroup decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, FIXED_BYTES, "block group");
        BlockGroup g = new BlockGroup();
        long stored = b.getLong(STORED_OFFSET);
        long damaged = b.getLong(DAMAGED_OFFSET);
        boolean known = (b.getInt(RUNS_OFFSET) & SEQUENCES) != 0;
        int runs = b.getInt(RUNS_OFFSET) & ~SEQUENCES;
        b.position(FIXED_BYTES);
        int crcs = FIXED_BYTES + runs * RUN_BYTES;
        if (runs > ChunkKeys.GROUP_BLOCKS) {
            throw new IndexDamagedException("block group of " + runs + " runs");
        }
        int end = crcs + BLOCK_CRC_BYTES * Long.bitCount(stored);
        if (known ? b.limit() < end + NEWEST_BYTES : b.limit() != end) {
            throw new IndexDamagedException("block group of " + b.limit() + " bytes");
        }
        ByteBuffer sequences = b.duplicate().order(b.order()).position(end);
        long newest = known ? sequences.getLong() : 0;
        long next = 0;
        int left = 0;
        int n = 0;
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if ((damaged & 1L << i) != 0) {
                g.damage(i);
            }
            if ((stored & 1L << i) == 0) {
                continue;
            }
            if (left == 0) {
                if (b.position() == crcs) {
                    throw new IndexDamagedException("block group whose runs are too short");
                }
                next = b.getLong();
                left = b.getInt();
            }
            long changed = known ? newest - Leb128.get(sequences) : 0;
            if (changed < 0) {
                throw new IndexDamagedException("block group with a sequence below 0");
            }
            g.set(i, next++, b.getInt(crcs + BLOCK_CRC_BYTES * n++), changed);
            left--;
        }
        if (left != 0 || b.position() != crcs) {
            throw new IndexDamagedException("block group whose runs are too long");
        }
        if (sequences.hasRemaining()) {
            throw new IndexDamagedException("block group with more than its sequences");
        }
        return g;
    }
}
