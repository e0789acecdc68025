package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.store.DeferredOps.DamagedBlock;
import io.cairn.dataserver.wal.PayloadReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * One pass of the flusher: operations of some PGs, merged chunk by chunk, written, synced; then the
 * update of the index that tells of it. For the flusher.
 */
final class FlushRound implements AutoCloseable {
    private final ChunkIndex index;
    private final DataFile data;
    private final BlockAllocator allocator;
    private final FreshBlocks fresh;
    private final Set<Long> adopted = new HashSet<>();
    private final StagedBlocks staged;
    private final PayloadReader payloads;
    private final ChunkIndex.Update update = new ChunkIndex.Update();
    private final FreedBlocks freed = new FreedBlocks();

    FlushRound(
            ChunkIndex index,
            DataFile data,
            BlockAllocator allocator,
            FreshBlocks fresh,
            StagedBlocks staged,
            PayloadReader payloads) {
        this.index = index;
        this.data = data;
        this.allocator = allocator;
        this.fresh = fresh;
        this.staged = staged;
        this.payloads = payloads;
    }

    /**
     * Merges what the share takes, following what the index has. Inodes of which a needed block is
     * damaged are passed over: the share says which.
     */
    void add(FlushShare share) throws IOException {
        int mark = staged.mark();
        while (true) {
            List<LoggedOp> batch = share.batch();
            List<InodeMerge> merges = prepare(share.pg().pg(), batch);
            List<DamagedBlock> found = new ArrayList<>(0);
            merges.forEach(m -> found.addAll(m.damaged()));
            if (found.isEmpty()) {
                merges.forEach(m -> m.finish(update));
                batch.forEach(this::freeUnused);
                return;
            }
            share.passOver(found);
            staged.rewind(mark);
        }
    }

    private List<InodeMerge> prepare(int pg, List<LoggedOp> ops) throws IOException {
        PgOverlay overlay = new PgOverlay((inode, chunk) -> index.head(pg, inode, chunk));
        ops.forEach(overlay::add);
        List<InodeMerge> merges = new ArrayList<>();
        for (long inode : new TreeSet<>(overlay.inodes())) {
            InodeMerge merge = new InodeMerge(index, pg, inode, overlay);
            merge.prepare(this::newMerge);
            merges.add(merge);
        }
        return merges;
    }

    private ChunkMerge newMerge(Stored stored, ChunkOverlay.View view, long version) {
        return new ChunkMerge(
                stored, view, version, data, allocator, fresh, adopted, staged, freed, payloads);
    }

    /** Blocks of a large write that nothing shows of any more, or that were merged. */
    private void freeUnused(LoggedOp op) {
        for (BlockRun run : op.record().extents()) {
            for (long b = run.first(); b < run.end(); b++) {
                if (!adopted.remove(b)) {
                    freed.add(b);
                }
            }
        }
        fresh.add(op.record().extents());
    }

    /** Writes and syncs the blocks: before the index may speak of them. */
    void writeBlocks() throws IOException {
        if (!staged.isEmpty()) {
            staged.write(data);
            data.force();
        }
    }

    ChunkIndex.Update update() {
        return update;
    }

    /** Blocks the index no longer points to after the update. */
    FreedBlocks freed() {
        return freed;
    }

    @Override
    public void close() {
        update.close();
        staged.clear();
    }
}
