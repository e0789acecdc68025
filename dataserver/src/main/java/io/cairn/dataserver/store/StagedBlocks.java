package io.cairn.dataserver.store;

import io.cairn.dataserver.disk.DataFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Images of blocks for the data file, written in the order of the disk and in large pieces. Keeps
 * its memory from round to round. For the flusher.
 */
final class StagedBlocks {
    private static final int BLOCK = DataFile.BLOCK_BYTES;
    private static final int SLAB_BLOCKS = 256;
    private static final int SLABS_KEPT = 16;
    private static final byte[] ZEROS = new byte[BLOCK];

    private final List<ByteBuffer> slabs = new ArrayList<>();
    private final List<Staged> staged = new ArrayList<>();
    private final ByteBuffer gathered = ByteBuffer.allocateDirect(SLAB_BLOCKS * BLOCK);
    private int used;

    private record Staged(long block, ByteBuffer image) {}

    /** Memory of one block, filled with zeros, good until {@link #clear}. */
    ByteBuffer newImage() {
        int slab = used / SLAB_BLOCKS;
        if (slab == slabs.size()) {
            slabs.add(ByteBuffer.allocateDirect(SLAB_BLOCKS * BLOCK));
        }
        ByteBuffer image = slabs.get(slab).slice(used % SLAB_BLOCKS * BLOCK, BLOCK);
        used++;
        image.put(0, ZEROS); // one bulk copy: a loop of stores took a third of the flusher's time
        return image;
    }

    void stage(long block, ByteBuffer image) {
        staged.add(new Staged(block, image));
    }

    /** Images handed out so far. */
    int mark() {
        return used;
    }

    /** The images handed out since the mark are not needed; none of them was staged. */
    void rewind(int mark) {
        used = mark;
    }

    boolean isEmpty() {
        return staged.isEmpty();
    }

    /** Writes everything staged; durable only after a sync of the data file. */
    void write(DataFile data) throws IOException {
        staged.sort(Comparator.comparingLong(Staged::block));
        long first = 0;
        gathered.clear();
        for (Staged s : staged) {
            boolean adjoins = s.block() == first + gathered.position() / BLOCK;
            if (gathered.position() > 0 && (!adjoins || !gathered.hasRemaining())) {
                data.write(first, gathered.flip());
                gathered.clear();
            }
            if (gathered.position() == 0) {
                first = s.block();
            }
            gathered.put(s.image().clear());
        }
        if (gathered.position() > 0) {
            data.write(first, gathered.flip());
        }
    }

    void clear() {
        staged.clear();
        used = 0;
        while (slabs.size() > SLABS_KEPT) {
            slabs.removeLast();
        }
    }
}
