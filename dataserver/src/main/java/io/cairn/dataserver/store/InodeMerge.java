package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.store.DeferredOps.DamagedBlock;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Merges the chunks of one inode: all of them, or none if a block that is needed is damaged. For
 * the flusher.
 */
final class InodeMerge {
    private final ChunkIndex index;
    private final int pg;
    private final long inode;
    private final PgOverlay overlay;
    private final List<Chunk> chunks = new ArrayList<>();
    private final List<DamagedBlock> damaged = new ArrayList<>(0);
    private long truncated;
    private boolean anew;

    /** Makes the merge of a chunk; see {@link ChunkMerge}. */
    interface Merges {
        ChunkMerge of(Stored stored, ChunkOverlay.View view, long version);
    }

    private record Chunk(int number, ChunkHead newest, ChunkMerge merge) {}

    InodeMerge(ChunkIndex index, int pg, long inode, PgOverlay overlay) {
        this.index = index;
        this.pg = pg;
        this.inode = inode;
        this.overlay = overlay;
    }

    /** Reads and merges, and changes nothing yet. */
    void prepare(Merges merges) throws IOException {
        Set<Integer> numbers = new TreeSet<>(overlay.chunks(inode));
        List<LoggedOp> whole = overlay.whole(inode);
        if (whole.stream().anyMatch(InodeMerge::concernsChunks)) {
            numbers.addAll(index.chunks(pg, inode));
        }
        for (int chunk : numbers) {
            ChunkOverlay o = overlay.find(inode, chunk);
            if (o != null && prepare(chunk, o, merges) == 0) {
                truncated = Math.max(truncated, o.truncateSequence(0));
            }
        }
        for (LoggedOp op : whole) {
            switch (op.change()) {
                case InodeChange.Truncate t -> truncated = Math.max(truncated, t.sequence());
                case InodeChange.Delete _ -> beginAnew(0);
                case InodeChange.Copied c -> beginAnew(c.truncateSequence());
                case InodeChange.Divided _ -> {}
                case InodeChange.United _ -> {}
                case null -> {}
            }
        }
    }

    /** Whatever the index says of truncations of the inode. */
    private void beginAnew(long truncateSequence) {
        anew = true;
        truncated = truncateSequence;
    }

    /** A head that is copied changes no chunk that is not in the batch. */
    private static boolean concernsChunks(LoggedOp whole) {
        return !(whole.change() instanceof InodeChange.Copied c && !c.clears());
    }

    private int prepare(int chunk, ChunkOverlay o, Merges merges) throws IOException {
        Stored stored = index.readAll(pg, inode, chunk);
        ChunkVersion version = o.version();
        if (version == null) {
            ChunkHead head = stored.head();
            if (head == null) {
                // A repair was logged behind the split by which the chunk has gone since.
                return 0;
            }
            version = head.version();
        }
        ChunkMerge merge = merges.of(stored, o.view(), version.sequence());
        merge.prepare("PG %d, inode %d, chunk %d".formatted(pg, inode, chunk));
        ChunkHead newest =
                new ChunkHead(
                        version.epoch(),
                        version.sequence(),
                        o.truncateSequence(stored.truncateSequence()),
                        merge.length());
        chunks.add(new Chunk(chunk, newest, merge));
        merge.damaged().forEach(b -> damaged.add(new DamagedBlock(inode, chunk, b)));
        return merge.length();
    }

    /** Blocks that are needed and damaged: if there are any, the merge must not be finished. */
    List<DamagedBlock> damaged() {
        return damaged;
    }

    /** Stages the blocks and puts the changes into the update. */
    void finish(ChunkIndex.Update update) {
        for (Chunk c : chunks) {
            c.merge().finish(update, pg, inode, c.number(), c.newest());
        }
        if (truncated > 0) {
            long before = anew ? 0 : index.inodeTruncateSequence(pg, inode);
            update.putInodeHead(pg, inode, Math.max(truncated, before));
        } else if (anew) {
            update.removeInodeHead(pg, inode);
        }
    }
}
