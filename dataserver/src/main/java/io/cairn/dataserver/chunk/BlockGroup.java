package io.cairn.dataserver.chunk;

import java.util.Arrays;

/**
 * Where 64 consecutive blocks of a chunk lie, what their checksums are, and which operation changed
 * them last. A block is absent (reads as zeros), stored, or damaged, which only earlier versions
 * wrote: its content is lost until it is repaired or overwritten as a whole. Used by one thread at
 * a time.
 */
public final class BlockGroup {
    public static final long ABSENT = 0;
    public static final long DAMAGED = -1;

    private final long[] location = new long[ChunkKeys.GROUP_BLOCKS];
    private final int[] crc = new int[ChunkKeys.GROUP_BLOCKS];
    private final long[] changed = new long[ChunkKeys.GROUP_BLOCKS];

    /** Block of the data file, {@link #ABSENT} or {@link #DAMAGED}. */
    public long location(int i) {
        return location[i];
    }

    public int crc(int i) {
        return crc[i];
    }

    /**
     * No operation of the PG after this one has changed the block; an earlier one may have been the
     * last. 0 if that is not known, as of what earlier versions wrote: then it is that of the
     * chunk.
     */
    public long changed(int i) {
        return changed[i];
    }

    public boolean stored(int i) {
        return location[i] > 0;
    }

    public void set(int i, long block, int blockCrc, long changedBy) {
        location[i] = block;
        crc[i] = blockCrc;
        changed[i] = changedBy;
    }

    public void clear(int i) {
        set(i, ABSENT, 0, 0);
    }

    public void damage(int i) {
        set(i, DAMAGED, 0, 0);
    }

    /** One that changes by itself. */
    public BlockGroup copy() {
        BlockGroup copy = new BlockGroup();
        System.arraycopy(location, 0, copy.location, 0, location.length);
        System.arraycopy(crc, 0, copy.crc, 0, crc.length);
        System.arraycopy(changed, 0, copy.changed, 0, changed.length);
        return copy;
    }

    public boolean isEmpty() {
        return Arrays.stream(location).allMatch(l -> l == ABSENT);
    }
}
