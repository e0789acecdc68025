package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of a block group, little-endian.
 *
 * <pre>
 *  0 u64 bit i: block i is stored
 *  8 u64 bit i: block i is damaged
 * 16 u32 number of runs
 * 20     runs, together all stored blocks in order: u64 first block, u32 count
 *        CRC32C u32 of each stored block in order
 *        u32 CRC32C of everything before
 * </pre>
 */
public final class BlockGroupFormat {
    static final int FIXED_BYTES = 20;
    private static final int RUN_BYTES = 12;
    private static final int BLOCK_CRC_BYTES = 4;

    private static final int STORED_OFFSET = 0;
    private static final int DAMAGED_OFFSET = 8;
    private static final int RUNS_OFFSET = 16;

    private BlockGroupFormat() {}

    static byte[] encode(BlockGroup g) {
        long stored = 0;
        long damaged = 0;
        int blocks = 0;
        int runs = 0;
        long next = -1;
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (g.stored(i)) {
                stored |= 1L << i;
                blocks++;
                runs += g.location(i) == next ? 0 : 1;
                next = g.location(i) + 1;
            } else if (g.location(i) == BlockGroup.DAMAGED) {
                damaged |= 1L << i;
            }
        }
        ByteBuffer b =
                IndexValue.allocate(FIXED_BYTES + runs * RUN_BYTES + blocks * BLOCK_CRC_BYTES);
        b.putLong(STORED_OFFSET, stored).putLong(DAMAGED_OFFSET, damaged).putInt(RUNS_OFFSET, runs);
        b.position(FIXED_BYTES);
        putRuns(b, g);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (g.stored(i)) {
                b.putInt(g.crc(i));
            }
        }
        return IndexValue.seal(b);
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
        int runs = b.getInt(RUNS_OFFSET);
        b.position(FIXED_BYTES);
        int crcs = FIXED_BYTES + runs * RUN_BYTES;
        if (runs < 0 || runs > ChunkKeys.GROUP_BLOCKS) {
            throw new IndexDamagedException("block group of " + runs + " runs");
        }
        if (b.limit() != crcs + BLOCK_CRC_BYTES * Long.bitCount(stored)) {
            throw new IndexDamagedException("block group of " + b.limit() + " bytes");
        }
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
            g.set(i, next++, b.getInt(crcs + BLOCK_CRC_BYTES * n++));
            left--;
        }
        if (left != 0 || b.position() != crcs) {
            throw new IndexDamagedException("block group whose runs are too long");
        }
        return g;
    }
}
