package io.cairn.dataserver.wal;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The write-ahead log of one disk. Appenders copy their record into the batch being filled ({@link
 * WalAppender}); one thread writes and syncs ({@link WalSync}); what is in the index is trimmed
 * ({@link WalSpace}); at the start the log is recovered ({@link WalRecovery}). Appending never
 * waits for the device: when it is behind, batches queue up, and {@link #fillRatio} tells
 * admission. Any thread, but for {@link #markIdle}.
 */
public final class Wal implements AutoCloseable {
    /** Enough for a write of 4 MiB with its checksums. */
    public static final int MAX_RECORD_BYTES = (4 << 20) + (32 << 10);

    private static final Logger LOG = LoggerFactory.getLogger(Wal.class);

    private static final int BUFFER_BYTES = 1 << 20;
    private static final int BUFFERS_KEPT = 4;

    private final WalSegments segments;
    private final DataFile data;
    private final WalBuffers buffers;
    private final WalFailure failure;
    private final WalAppender appender;
    private final WalSync sync;
    private final WalSpace space;
    private final IdleMark idleMark = new IdleMark();

    private Wal(
            WalSegments segments,
            DataFile data,
            long lastLsn,
            long trimLsn,
            FatalHandler fatal,
            String name) {
        this.segments = segments;
        this.data = data;
        buffers = new WalBuffers(Math.min(BUFFER_BYTES, segments.maxBatchBytes()), BUFFERS_KEPT);
        failure = new WalFailure(segments, fatal);
        appender = new WalAppender(segments, buffers, failure, lastLsn);
        sync = new WalSync(segments, appender, buffers, failure, lastLsn, name);
        space = new WalSpace(segments, appender, sync, Math.min(trimLsn, lastLsn));
    }

    /** Makes the files of a new log. */
    public static void create(DeviceFiles files, Path directory, int segments, int segmentBytes)
            throws IOException {
        WalSegments.create(files, directory, segments, segmentBytes);
    }

    /**
     * Recovers the log and starts its thread.
     *
     * @param segmentCount number of its files, 0 if it is not known
     * @param data has the payloads of large writes
     * @param trimLsn everything up to here is in the index
     * @param recovered gets what is logged above, in order, before this returns
     */
    public static Wal open(
            DeviceFiles files,
            Path directory,
            int segmentCount,
            int segmentBytes,
            UUID disk,
            DataFile data,
            long trimLsn,
            FatalHandler fatal,
            String name,
            WalReplay recovered)
            throws IOException, DiskOpenException {
        WalSegments segments = WalSegments.open(files, directory, segmentCount, segmentBytes, disk);
        try {
            long lastLsn = new WalRecovery(segments, data, trimLsn).run(recovered);
            Wal wal = new Wal(segments, data, lastLsn, trimLsn, fatal, name);
            wal.sync.start();
            return wal;
        } catch (IOException | DiskOpenException | RuntimeException e) {
            segments.close();
            throw e;
        }
    }

    /**
     * Logs an operation; the payload is copied before this returns.
     *
     * @param durable called by the sync thread when it is durable, in order of LSN
     */
    public WalRecord append(
            long epoch, long sequence, DataOp op, ByteBuf payload, Runnable durable) {
        int type = WalRecordFormat.OPERATION;
        boolean urgent = op.type() != DataOpType.WRITE;
        return append(type, epoch, sequence, op, payload, urgent, durable);
    }

    /**
     * Logs what a block must contain, to be written over a damaged one; as {@link #append}. Takes
     * space in reserve: it may be what the log waits for.
     *
     * @param epoch of the operation it follows
     * @param sequence of the operation it follows: if that is dropped, so is this
     * @param write of the block, by no session
     */
    public WalRecord appendRepair(
            long epoch, long sequence, DataOp write, ByteBuf payload, Runnable durable) {
        int type = WalRecordFormat.REPAIR;
        return append(type, epoch, sequence, write, payload, true, durable);
    }

    private WalRecord append(
            int type,
            long epoch,
            long sequence,
            DataOp op,
            ByteBuf payload,
            boolean urgent,
            Runnable durable) {
        return appender.append(
                type, epoch, sequence, op, null, List.of(), payload, urgent, durable);
    }

    /**
     * Logs a step of a learner; as {@link #append}.
     *
     * @param op what stands for it, see {@link LearnerStep}
     */
    public WalRecord appendStep(
            long epoch,
            long sequence,
            DataOp op,
            LearnerStep step,
            ByteBuf payload,
            Runnable durable) {
        int type = WalRecordFormat.LEARNER;
        boolean urgent = step.urgent(payload.readableBytes());
        return appender.append(
                type, epoch, sequence, op, step, List.of(), payload, urgent, durable);
    }

    /**
     * Logs a large write whose payload is durable in these blocks of the data file; as {@link
     * #append}.
     */
    public WalRecord appendDirect(
            long epoch, long sequence, DataOp op, List<BlockRun> extents, Runnable durable) {
        ByteBuf none = Unpooled.EMPTY_BUFFER;
        int type = WalRecordFormat.DIRECT_OPERATION;
        WalRecord logged =
                appender.append(type, epoch, sequence, op, null, extents, none, false, durable);
        return WalRecord.direct(logged.lsn(), epoch, sequence, op, extents, data);
    }

    /**
     * Logs an operation, a repair or a step once more, so that its first record can be trimmed when
     * the new one is durable. Takes space in reserve: it may be what the log waits for.
     *
     * @param payload of the operation; empty if the record has extents
     */
    public WalRecord appendAgain(WalRecord r, ByteBuf payload) {
        boolean direct = !r.extents().isEmpty();
        WalRecord logged =
                appender.append(
                        typeOf(r),
                        r.epoch(),
                        r.sequence(),
                        r.op(),
                        r.step(),
                        r.extents(),
                        payload,
                        true,
                        () -> {});
        return direct
                ? WalRecord.direct(logged.lsn(), r.epoch(), r.sequence(), r.op(), r.extents(), data)
                : logged;
    }

    private static int typeOf(WalRecord r) {
        if (r.step() != null) {
            return WalRecordFormat.LEARNER;
        }
        if (r.repair()) {
            return WalRecordFormat.REPAIR;
        }
        return r.extents().isEmpty() ? WalRecordFormat.OPERATION : WalRecordFormat.DIRECT_OPERATION;
    }

    /** Logs that the operations of the PG after the sequence are void. */
    public void appendDropTail(int pg, long lastSequenceKept, Runnable durable) {
        appender.appendDropTail(pg, lastSequenceKept, durable);
    }

    /** The LSN up to which everything is durable. */
    public long syncedLsn() {
        return sync.syncedLsn();
    }

    /**
     * Lets an idle log record that its last batch was synced, as otherwise the next batch does:
     * until then damage in that batch cannot be told from the torn end of the log. Called now and
     * then by one thread.
     *
     * @param nowNanos of any clock
     */
    public void markIdle(long nowNanos) {
        if (idleMark.due(sync.syncedLsn(), sync.markedLsn(), nowNanos)) {
            sync.mark();
        }
    }

    /** The LSN up to which the log itself records that everything was synced. */
    public long markedLsn() {
        return sync.markedLsn();
    }

    /** Everything up to the LSN is durable in the index: its segments may be used again. */
    public void trim(long trimLsn) {
        space.trim(trimLsn);
    }

    /** The newest LSN whose segment a {@link #trim} frees; 0 if it frees none. */
    public long recycledBy(long trimLsn) {
        return segments.recycledBy(trimLsn);
    }

    /** How full the log is for writes: 1 and above means that they wait for the flusher. */
    public double fillRatio() {
        return space.fillRatio();
    }

    public long usedBytes() {
        return space.usedBytes();
    }

    /** What is left of its files, with what is kept in reserve. */
    public long freeBytes() {
        return space.freeBytes();
    }

    public long capacityBytes() {
        return space.capacityBytes();
    }

    /** Number of its files. */
    public int segmentCount() {
        return segments.count();
    }

    /** Syncs done since opening. */
    public long syncs() {
        return sync.syncs();
    }

    /** The device hangs: nothing becomes durable from now on, nor is anything more written. */
    public void giveUp() {
        failure.end();
    }

    /** Whether the device failed: nothing more becomes durable. */
    public boolean failed() {
        return failure.failed();
    }

    /** Writes and syncs what was appended, then a mark that it was synced. */
    @Override
    public void close() {
        appender.close();
        segments.drain();
        sync.awaitEnd();
        buffers.close();
        try {
            segments.close();
        } catch (IOException e) {
            LOG.warn("closing the write-ahead log of disk {}", segments.disk(), e);
        }
    }
}
