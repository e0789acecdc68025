package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
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
    private final List<DamagedBlock> damaged = new ArrayList<>(0);

    private record DamagedBlock(int pg, long inode, int chunk, int block) {}

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

    /** Merges the operations, all of one PG, in order, following what the index has. */
    void add(int pg, List<LoggedOp> ops) throws IOException {
        PgOverlay overlay =
                new PgOverlay((inode, chunk) -> index.truncateSequence(pg, inode, chunk));
        ops.forEach(overlay::add);
        for (long inode : new TreeSet<>(overlay.inodes())) {
            addInode(pg, inode, overlay);
        }
        ops.forEach(this::freeUnused);
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

    private void addInode(int pg, long inode, PgOverlay overlay) throws IOException {
        Set<Integer> chunks = new TreeSet<>(overlay.chunks(inode));
        List<LoggedOp> whole = overlay.whole(inode);
        if (!whole.isEmpty()) {
            chunks.addAll(index.chunks(pg, inode));
        }
        long truncated = 0;
        for (int chunk : chunks) {
            ChunkOverlay o = overlay.find(inode, chunk);
            if (o != null && addChunk(pg, inode, chunk, o) == 0) {
                truncated = Math.max(truncated, o.truncateSequence(0));
            }
        }
        boolean deleted = false;
        for (LoggedOp op : whole) {
            if (op.change() instanceof InodeChange.Truncate t) {
                truncated = Math.max(truncated, t.sequence());
            } else {
                deleted = true;
                truncated = 0;
            }
        }
        if (truncated > 0) {
            long before = deleted ? 0 : index.inodeTruncateSequence(pg, inode);
            update.putInodeHead(pg, inode, Math.max(truncated, before));
        } else if (deleted) {
            update.removeInodeHead(pg, inode);
        }
    }

    private int addChunk(int pg, long inode, int chunk, ChunkOverlay overlay) throws IOException {
        Stored stored = index.readAll(pg, inode, chunk);
        ChunkVersion version = overlay.version();
        if (version == null) {
            ChunkHead head = stored.head();
            if (head == null) {
                throw new IllegalStateException(
                        "a repair of chunk " + chunk + " of inode " + inode + ", which is not");
            }
            version = head.version();
        }
        ChunkMerge merge =
                new ChunkMerge(
                        String.format("PG %d, inode %d, chunk %d", pg, inode, chunk),
                        stored,
                        overlay.view(),
                        data,
                        allocator,
                        fresh,
                        adopted,
                        staged,
                        freed,
                        payloads);
        ChunkHead newest =
                new ChunkHead(
                        version.epoch(),
                        version.sequence(),
                        overlay.truncateSequence(stored.truncateSequence()),
                        0);
        int length = merge.run(update, pg, inode, chunk, newest);
        merge.damaged().forEach(block -> damaged.add(new DamagedBlock(pg, inode, chunk, block)));
        return length;
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

    /** Tells of the blocks that became damaged. */
    void report(DiskStore.DamageListener listener) {
        damaged.forEach(d -> listener.damaged(d.pg(), d.inode(), d.chunk(), d.block()));
    }

    @Override
    public void close() {
        update.close();
        staged.clear();
    }
}
