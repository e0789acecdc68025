package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.disk.BlockRun;
import java.util.BitSet;

/**
 * What must hold whenever all is durable and the flusher is not at work: no block is used twice,
 * none is lost, none is stored beyond a chunk's end, no group without its chunk, and the index's
 * summary says what its content does.
 */
final class DiskInvariants implements ChunkIndex.Visitor {
    private final BitSet used = new BitSet();
    private long inode = -1;
    private int chunk;
    private int length;

    static void check(LocalDiskStore store) {
        DiskInvariants i = new DiskInvariants();
        i.used.set(0);
        store.index().visit(i);
        assertThat(store.index().summaryDifferences(store.allocator().blocks())).isEmpty();
        for (BlockRun r : store.flushThread().flusher().awaitingIndexFlush()) {
            for (long b = r.first(); b < r.end(); b++) {
                i.use(b);
            }
        }
        for (BlockRun r : store.loggedExtents()) {
            for (long b = r.first(); b < r.end(); b++) {
                i.use(b);
            }
        }
        for (int b = 0; b < store.allocator().blocks(); b++) {
            assertThat(store.allocator().isUsed(b))
                    .as("block %d in use", b)
                    .isEqualTo(i.used.get(b));
        }
        assertThat(store.allocator().freeBlocks() + store.allocator().unbackedBlocks())
                .isEqualTo(store.allocator().blocks() - i.used.cardinality());
    }

    private void use(long block) {
        assertThat(used.get((int) block)).as("block %d used twice", block).isFalse();
        used.set((int) block);
    }

    @Override
    public void inodeHead(int pg, long inodeId, long truncateSequence) {
        assertThat(truncateSequence).isPositive();
    }

    @Override
    public void chunkHead(int pg, long inodeId, int chunkNumber, ChunkHead head) {
        inode = inodeId;
        chunk = chunkNumber;
        length = head.lengthBytes();
        assertThat(length).isPositive();
    }

    @Override
    public void group(int pg, long inodeId, int chunkNumber, int group, BlockGroup blocks) {
        assertThat(inodeId).isEqualTo(inode);
        assertThat(chunkNumber).isEqualTo(chunk);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (blocks.stored(i)) {
                use(blocks.location(i));
                assertThat((group * ChunkKeys.GROUP_BLOCKS + i) * 4096).isLessThan(length);
            }
        }
    }
}
