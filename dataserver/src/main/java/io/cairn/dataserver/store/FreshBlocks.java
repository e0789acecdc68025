package io.cairn.dataserver.store;

import io.cairn.dataserver.disk.BlockRun;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Blocks that large writes brought into the index since it was last flushed: after a crash their
 * records are replayed, so they are not overwritten before. For the flusher.
 */
final class FreshBlocks {
    private final TreeMap<Long, Integer> runs = new TreeMap<>();

    void add(List<BlockRun> extents) {
        extents.forEach(r -> runs.put(r.first(), r.count()));
    }

    boolean contains(long block) {
        Map.Entry<Long, Integer> run = runs.floorEntry(block);
        return run != null && block < run.getKey() + run.getValue();
    }

    /** The index is flushed. */
    void clear() {
        runs.clear();
    }
}
