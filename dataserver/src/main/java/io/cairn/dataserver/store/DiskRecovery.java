package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.IndexContent;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.TruncatedInodes;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskFormatter;
import io.cairn.dataserver.disk.DiskHold;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.RunMark;
import io.cairn.dataserver.disk.Superblock;
import io.cairn.dataserver.wal.LearnerStep.Completed;
import io.cairn.dataserver.wal.LearnerStep.CopiedTo;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyInode;
import io.cairn.dataserver.wal.LearnerStep.Reset;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.cairn.dataserver.wal.WalReplay;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a disk, new, closed or crashed: superblocks, index, allocator, WAL, in this order. Used
 * once by one thread.
 */
final class DiskRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(DiskRecovery.class);

    private final DiskConfig config;
    private final DiskRuntime runtime;
    private final DeviceFiles files;

    private DiskRecovery(DiskConfig config, DiskRuntime runtime) {
        this.config = config;
        this.runtime = runtime;
        this.files = runtime.files();
    }

    static LocalDiskStore open(
            DiskConfig config, UUID cluster, @Nullable UUID known, DiskRuntime runtime)
            throws DiskOpenException {
        try {
            return new DiskRecovery(config, runtime).open(cluster, known);
        } catch (IOException | IndexDamagedException | IllegalStateException e) {
            throw new DiskOpenException(
                    "cannot open disk " + config.data() + ": " + e.getMessage(), e);
        }
    }

    private LocalDiskStore open(UUID cluster, @Nullable UUID known)
            throws IOException, DiskOpenException {
        DiskHold hold = DiskHold.of(config);
        try {
            return open(cluster, known, hold);
        } catch (IOException | DiskOpenException | RuntimeException e) {
            hold.close();
            throw e;
        }
    }

    private LocalDiskStore open(UUID cluster, @Nullable UUID known, DiskHold hold)
            throws IOException, DiskOpenException {
        Superblock superblock =
                new DiskFormatter(config, files).openOrFormat(cluster, known, this::make);
        hold.takeRest();
        RunMark mark = RunMark.begin(files, config);
        FatalHandler marked = mark.before(runtime.fatal());
        DeviceFile device = files.open(config.data());
        DataFile data = new DataFile(device, superblock.capacityBytes());
        // Whichever part fails first, the data file takes nothing more: after a failed sync of one
        // writer the kernel would tell the next one that all is well.
        FatalHandler failed =
                (what, cause) -> {
                    data.fence(what);
                    marked.fatal(what, cause);
                };
        ChunkIndex index = null;
        try {
            index = openIndex(superblock.disk(), failed);
            return open(superblock, data, index, hold, mark, failed);
        } catch (IOException | DiskOpenException | RuntimeException e) {
            if (index != null) {
                index.close();
            }
            data.close();
            throw e;
        }
    }

    private ChunkIndex openIndex(UUID disk, FatalHandler failed) throws IOException {
        return ChunkIndex.open(config.index(), disk, runtime.databases(), runtime.calls(), failed);
    }

    /** The parts of a new disk besides its superblocks. */
    private void make(Superblock superblock) throws IOException {
        Wal.create(files, config.wal(), config.walSegments(), config.walSegmentBytes());
        try (ChunkIndex index = openIndex(superblock.disk(), runtime.fatal());
                ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.putDiskState(new DiskState(superblock.disk(), 0, config.walSegments()));
            update.putEmptySummary();
            index.apply(update);
            index.flush();
        }
    }

    private LocalDiskStore open(
            Superblock superblock,
            DataFile data,
            ChunkIndex index,
            DiskHold hold,
            RunMark mark,
            FatalHandler failed)
            throws IOException, DiskOpenException {
        DiskState state = index.diskState();
        if (state == null || !state.disk().equals(superblock.disk())) {
            throw new DiskOpenException(
                    config.index()
                            + " is not the index of disk "
                            + superblock.disk()
                            + (state == null ? ": it is empty" : " but of " + state.disk())
                            + ": put its index back; "
                            + DiskOpenException.KEEP_AS_IT_IS);
        }
        IndexContent content = contentOf(index, data);
        BlockAllocator allocator = content.allocator();
        SpaceAccount space =
                new SpaceAccount(allocator, config.headroomBytes(superblock.capacityBytes()));
        Map<Integer, PgStore> pgs = new ConcurrentHashMap<>();
        for (PgLogState s : index.pgStates()) {
            pgs.put(s.pg(), new PgStore(s, index, space).recovering());
        }
        Wal wal =
                Wal.open(
                        files,
                        config.wal(),
                        state.walSegments(),
                        config.walSegmentBytes(),
                        superblock.disk(),
                        data,
                        state.trimLsn(),
                        failed,
                        OpenedDisk.nameOf(superblock.disk()),
                        new Replay(pgs, index, space, content.truncated()));
        try {
            for (PgStore pg : pgs.values()) {
                pg.endRecovery();
                // Only what stands at the end: blocks of dropped writes may be used by others.
                pg.loggedExtents().forEach(r -> allocator.markUsed(r.first(), r.count()));
            }
        } catch (DiskOpenException | IllegalStateException e) {
            wal.close();
            throw e;
        }
        SpaceKeeper keeper = new SpaceKeeper(config, data, allocator, space);
        try {
            keeper.begin();
        } catch (IOException e) {
            wal.close();
            throw e;
        }
        LOG.info(
                "disk {} ({}): {} of {} blocks free, {} PGs",
                superblock.disk(),
                config.data(),
                allocator.freeBlocks() + allocator.unbackedBlocks(),
                allocator.blocks(),
                pgs.size());
        GroupSplits splits = new GroupSplits(index, pgs, space);
        GroupMerges merges = new GroupMerges(index, pgs, space, allocator);
        Flusher flusher =
                new Flusher(
                        superblock.disk(),
                        index,
                        data,
                        allocator,
                        wal,
                        pgs.values(),
                        splits,
                        merges,
                        state.trimLsn());
        OpenedDisk disk =
                new OpenedDisk(
                        superblock.disk(),
                        wal,
                        data,
                        index,
                        content,
                        space,
                        keeper,
                        pgs,
                        splits,
                        merges,
                        hold,
                        mark);
        return new LocalDiskStore(config, disk, flusher, runtime.with(failed));
    }

    private IndexContent contentOf(ChunkIndex index, DataFile data) {
        long start = System.nanoTime();
        IndexContent content = index.openContent(data.blocks());
        if (content.readBecause() != null) {
            LOG.warn(
                    "{} was read as a whole in {} ms ({}); the next start reads only the summary",
                    config.index(),
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start),
                    content.readBecause());
        }
        return content;
    }

    /** Puts what the WAL holds into the PGs. */
    private record Replay(
            Map<Integer, PgStore> pgs,
            ChunkIndex index,
            SpaceAccount space,
            TruncatedInodes truncated)
            implements WalReplay {
        @Override
        public void operation(WalRecord record) throws IOException {
            truncated.note(record.op());
            DataOp op = record.op();
            PgStore pg = pg(record.pg());
            switch (record.step()) {
                case Reset r ->
                        pg.recoveredReset(record, r, AnsweredFormat.decode(payload(record)));
                case CopyInode c ->
                        pg.recovered(
                                record,
                                new InodeChange.Copied(
                                        op.inode(), op.truncateSequence(), c.clears()));
                case Copy _ -> pg.recovered(record, null);
                case CopiedTo _ -> pg.recovered(record, null);
                case Completed _ -> pg.recovered(record, null);
                case null -> pg.recovered(record, change(record));
            }
        }

        private static @Nullable InodeChange change(WalRecord record) throws IOException {
            return switch (record.op().type()) {
                case WRITE, NOOP, READ -> null;
                case TRUNCATE_INODE, DELETE_INODES, SPLIT, MERGE ->
                        InodeChange.of(record.op(), Unpooled.wrappedBuffer(payload(record)));
            };
        }

        private static ByteBuffer payload(WalRecord record) throws IOException {
            ByteBuffer payload = ByteBuffer.allocate(record.payloadLength());
            record.read(0, payload);
            return payload.flip();
        }

        @Override
        public void dropTail(int pg, long lastSequenceKept) {
            pg(pg).recoveredDropTail(lastSequenceKept);
        }

        private PgStore pg(int pg) {
            return pgs.computeIfAbsent(
                    pg, p -> new PgStore(PgStore.empty(p), index, space).recovering());
        }
    }
}
