package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What the metadata service knows of truncations. */
final class SimFiles {
    private static final int MOST_PENDING = 4;

    private final Map<Long, TreeMap<Long, Long>> cuts = new TreeMap<>();
    private final Map<Long, TreeMap<Long, Long>> pending = new TreeMap<>();
    private final Map<SimHistory.Op, Long> done = new HashMap<>();

    /**
     * What a client knows of a file.
     *
     * @param truncateSequence newest truncation known
     * @param pending sizes by the truncations that are not applied everywhere
     */
    record View(long truncateSequence, TreeMap<Long, Long> pending) {
        static final View NEW = new View(0, new TreeMap<>());

        List<DataOp.Cut> cuts(int chunk) {
            List<DataOp.Cut> cuts = new ArrayList<>();
            pending.forEach((sequence, size) ->
                    cuts.add(
                            new DataOp.Cut(sequence, SimClient.STRIPING.chunkLength(size, chunk))));
            return cuts;
        }
    }

    View view(long inode) {
        TreeMap<Long, Long> all = cuts(inode);
        return new View(all.isEmpty() ? 0 : all.lastKey(), new TreeMap<>(pending(inode)));
    }

    /** Sizes by truncations. */
    TreeMap<Long, Long> cuts(long inode) {
        return cuts.getOrDefault(inode, new TreeMap<>());
    }

    /** Those that are not applied everywhere. */
    TreeMap<Long, Long> pending(long inode) {
        return pending.getOrDefault(inode, new TreeMap<>());
    }

    /** Inodes that have such. */
    List<Long> pending() {
        return pending.keySet().stream().filter(i -> !pending(i).isEmpty()).toList();
    }

    /** The sequence of a truncation that is in the log; null of one that is not. */
    @Nullable Long sequence(SimHistory.Op op) {
        return done.get(op);
    }

    /** Once for each operation, and only while few are pending. */
    void truncate(SimHistory.Op op) {
        if (done.containsKey(op) || pending(op.inode).size() == MOST_PENDING) {
            return;
        }
        long sequence = view(op.inode).truncateSequence() + 1;
        cuts.computeIfAbsent(op.inode, i -> new TreeMap<>()).put(sequence, op.size);
        pending.computeIfAbsent(op.inode, i -> new TreeMap<>()).put(sequence, op.size);
        done.put(op, sequence);
    }

    void applied(long inode, long sequence) {
        pending(inode).remove(sequence);
    }

    /**
     * Of each cell the newest truncation up to this one that leaves nothing of it; 0 if none does.
     */
    long[] cuts(Key key, long upTo) {
        long[] newest = new long[Cells.PER_CHUNK];
        cuts(key.inode())
                .headMap(upTo, true)
                .forEach((sequence, size) -> {
                    Cells cut = Cells.beyond(size, key.chunk());
                    Arrays.fill(newest, cut.first(), cut.end(), sequence);
                });
        return newest;
    }
}
