package io.cairn.dataserver.store;

import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import java.util.ArrayList;
import java.util.List;

/**
 * Blocks that nothing points to any more once an update of the index is durable. Neighbours are
 * kept as one run: deleting large files frees millions of blocks at once. For the flusher.
 */
final class FreedBlocks {
    private final List<BlockRun> runs = new ArrayList<>();

    void add(long block) {
        if (!runs.isEmpty() && runs.getLast().end() == block) {
            BlockRun last = runs.removeLast();
            runs.add(new BlockRun(last.first(), last.count() + 1));
        } else {
            runs.add(new BlockRun(block, 1));
        }
    }

    void addAll(FreedBlocks others) {
        runs.addAll(others.runs);
    }

    boolean isEmpty() {
        return runs.isEmpty();
    }

    /** Number of runs; each takes up to about 40 bytes of heap. */
    int runs() {
        return runs.size();
    }

    List<BlockRun> asList() {
        return List.copyOf(runs);
    }

    void releaseTo(BlockAllocator allocator) {
        runs.forEach(r -> allocator.release(r.first(), r.count()));
        runs.clear();
    }
}
