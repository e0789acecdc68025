package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.NavigableSet;

/**
 * Lists which blocks of an inode's chunks are there, or may have changed since an operation, for
 * whoever copies them into another pool. Keys are taken from the overlay first and then from the
 * index, so that a chunk that the flusher moves meanwhile is not missed. Any thread.
 */
final class ContentChanges {
    private static final int BLOCK = BlockCrc.BLOCK_BYTES;

    private final ChunkIndex index;

    ContentChanges(ChunkIndex index) {
        this.index = index;
    }

    /** See {@link LearnerStore#changes}. */
    LearnerStore.Changes after(PgStore store, long inode, int after, long since, int max) {
        NavigableSet<Integer> chunks = store.loggedChunks(inode, after);
        index.heads(
                store.pg(),
                inode,
                after + 1,
                new ChunkIndex.Heads() {
                    private int seen;

                    @Override
                    public boolean head(long of, int chunk) {
                        if (of != inode || chunk <= after) {
                            return of == inode;
                        }
                        chunks.add(chunk);
                        return ++seen < max;
                    }
                });
        boolean last = chunks.size() < max;
        List<LearnerStore.ChunkChanges> changed = new ArrayList<>();
        int looked = 0;
        int upTo = after;
        for (int chunk : chunks) {
            if (looked++ == max) {
                break;
            }
            List<ChunkCopy.Run> runs = runs(store, new Key(inode, chunk), since);
            if (!runs.isEmpty()) {
                changed.add(new LearnerStore.ChunkChanges(chunk, runs));
            }
            upTo = chunk;
        }
        return new LearnerStore.Changes(changed, upTo, last);
    }

    private static List<ChunkCopy.Run> runs(PgStore store, Key key, long since) {
        BitSet blocks = store.content().blocks(key, since).changed();
        int length = store.content().head(key).lengthBytes();
        List<ChunkCopy.Run> runs = new ArrayList<>();
        for (int b = blocks.nextSetBit(0); b >= 0 && b * BLOCK < length; ) {
            int end = blocks.nextClearBit(b);
            runs.add(new ChunkCopy.Run(b * BLOCK, Math.min(end * BLOCK, length) - b * BLOCK));
            b = blocks.nextSetBit(end);
        }
        return runs;
    }
}
