package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The write-ahead log of one disk. Appenders (any thread) copy their record into the batch being
 * filled; one sync thread writes all batches there are, syncs once and runs their callbacks, so
 * that an idle log syncs at once and a busy one in groups. Appending never waits for the device:
 * when it is behind, batches queue up, and {@link #fillRatio} tells admission.
 */
public final class Wal implements AutoCloseable {
    /** Enough for a write of 4 MiB with its checksums. */
    public static final int MAX_RECORD_BYTES = (4 << 20) + (32 << 10);

    private static final Logger LOG = LoggerFactory.getLogger(Wal.class);

    /** After so long without an append the last batch gets a mark that it was synced. */
    static final long IDLE_NANOS = 1_000_000_000;

    /**
     * About 120 MB of heap; reached before the bytes only by records below 3 KiB in 1 GiB of log.
     */
    private static final long MAX_RECORDS = 400_000;

    private static final int BUFFER_BYTES = 1 << 20;
    private static final int BUFFERS_KEPT = 4;

    private final WalSegments segments;
    private final DataFile data;
    private final WalBuffers buffers;
    private final FatalHandler fatal;
    private final SecureRandom salts = new SecureRandom();
    private final Thread syncThread;
    private final LongAdder syncs = new LongAdder();
    private final int maxBatchBytes;

    private final ReentrantLock lock = new ReentrantLock();
    // guarded by lock
    private final ArrayDeque<WalBatch> sealed = new ArrayDeque<>();
    private @Nullable WalBatch active;
    private long nextLsn;
    private boolean closing;

    private volatile boolean parked;
    private volatile boolean failed;
    private volatile long syncedLsn;
    private volatile long trimmedLsn;
    private final AtomicLong queuedBytes = new AtomicLong();
    private volatile int position;
    private volatile long markedLsn;
    private volatile boolean markWanted;
    // the caller of markIdle only
    private long unmarkedLsn;
    private long unmarkedSinceNanos;
    // sync thread only
    private @Nullable WalSegment current;
    private List<WalBatch> writing = List.of();

    private Wal(
            WalSegments segments, DataFile data, long lastLsn, FatalHandler fatal, String name) {
        this.segments = segments;
        this.data = data;
        this.fatal = fatal;
        this.maxBatchBytes = segments.segmentBytes() - WalSegmentFormat.BYTES;
        this.buffers = new WalBuffers(Math.min(BUFFER_BYTES, maxBatchBytes), BUFFERS_KEPT);
        this.nextLsn = lastLsn + 1;
        this.syncedLsn = lastLsn;
        this.markedLsn = lastLsn;
        this.syncThread = Thread.ofPlatform().name(name + "-wal").unstarted(this::syncLoop);
    }

    /** Makes the files of a new log. */
    public static void create(DeviceFiles files, Path directory, int segments, int segmentBytes)
            throws IOException {
        WalSegments.create(files, directory, segments, segmentBytes);
    }

    /**
     * Recovers the log and starts its thread.
     *
     * @param data has the payloads of large writes
     * @param trimLsn everything up to here is in the index
     * @param recovered gets what is logged above, in order, before this returns
     */
    public static Wal open(
            DeviceFiles files,
            Path directory,
            int segmentBytes,
            UUID disk,
            DataFile data,
            long trimLsn,
            FatalHandler fatal,
            String name,
            WalReplay recovered)
            throws IOException, DiskOpenException {
        WalSegments segments = WalSegments.open(files, directory, segmentBytes, disk);
        try {
            long lastLsn = new WalRecovery(segments, data, trimLsn).run(recovered);
            Wal wal = new Wal(segments, data, lastLsn, fatal, name);
            wal.trimmedLsn = Math.min(trimLsn, lastLsn);
            wal.syncThread.start();
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
        return append(WalRecordFormat.OPERATION, epoch, sequence, op, List.of(), payload, durable);
    }

    /**
     * Logs what a block must contain, to be written over a damaged one; as {@link #append}.
     *
     * @param epoch of the operation it follows
     * @param sequence of the operation it follows: if that is dropped, so is this
     * @param write of the block, by no session
     */
    public WalRecord appendRepair(
            long epoch, long sequence, DataOp write, ByteBuf payload, Runnable durable) {
        return append(WalRecordFormat.REPAIR, epoch, sequence, write, List.of(), payload, durable);
    }

    /**
     * Logs a large write whose payload is durable in these blocks of the data file; as {@link
     * #append}.
     */
    public WalRecord appendDirect(
            long epoch, long sequence, DataOp op, List<BlockRun> extents, Runnable durable) {
        ByteBuf none = Unpooled.EMPTY_BUFFER;
        int type = WalRecordFormat.DIRECT_OPERATION;
        WalRecord logged = append(type, epoch, sequence, op, extents, none, durable);
        return direct(logged.lsn(), epoch, sequence, op, extents, data);
    }

    static WalRecord direct(
            long lsn, long epoch, long sequence, DataOp op, List<BlockRun> extents, DataFile data) {
        return new WalRecord(
                lsn,
                epoch,
                sequence,
                op,
                false,
                new ExtentPayload(data, extents),
                op.offset() % BlockCrc.BLOCK_BYTES,
                op.length(),
                extents);
    }

    private WalRecord append(
            int type,
            long epoch,
            long sequence,
            DataOp op,
            List<BlockRun> extents,
            ByteBuf payload,
            Runnable durable) {
        int headLength = DataOpFormat.encodedLength(op);
        int payloadLength = payload.readableBytes();
        int length =
                WalRecordFormat.BYTES
                        + headLength
                        + extents.size() * WalRecordFormat.EXTENT_BYTES
                        + payloadLength;
        boolean write = op.type() == DataOpType.WRITE;
        int payloadCrc = write || payloadLength == 0 ? 0 : BlockCrc.of(payload.nioBuffer());
        int aligned = WalRecordFormat.aligned(length);
        WalBatch batch;
        int at;
        long lsn;
        lock.lock();
        try {
            batch = batchFor(aligned);
            lsn = nextLsn++;
            at = batch.reserve(aligned, durable, !write);
        } finally {
            lock.unlock();
        }
        int payloadAt = at + length - payloadLength;
        try {
            ByteBuffer b = batch.memory();
            WalRecordFormat.encode(
                    b,
                    at,
                    new WalRecordFormat.Header(
                            lsn,
                            epoch,
                            sequence,
                            op.pg(),
                            type,
                            extents.size(),
                            headLength,
                            payloadLength,
                            payloadCrc));
            DataOpFormat.encode(op, b.slice(at + WalRecordFormat.BYTES, headLength));
            WalRecordFormat.encodeExtents(b, at + WalRecordFormat.BYTES + headLength, extents);
            if (payloadLength > 0) {
                payload.getBytes(payload.readerIndex(), b.slice(payloadAt, payloadLength));
            }
            fillUp(b, at + length, at + aligned);
        } catch (RuntimeException | Error e) {
            // Half a record must never be written: recovery would take it for the end of the log.
            fail(e);
            throw e;
        } finally {
            batch.copied();
        }
        wakeSyncThread(!write);
        boolean repair = type == WalRecordFormat.REPAIR;
        return new WalRecord(
                lsn, epoch, sequence, op, repair, batch, payloadAt, payloadLength, extents);
    }

    /** Logs that the operations of the PG after the sequence are void. */
    public void appendDropTail(int pg, long lastSequenceKept, Runnable durable) {
        WalBatch batch;
        int at;
        long lsn;
        lock.lock();
        try {
            batch = batchFor(WalRecordFormat.BYTES);
            lsn = nextLsn++;
            at = batch.reserve(WalRecordFormat.BYTES, durable, true);
        } finally {
            lock.unlock();
        }
        WalRecordFormat.encode(
                batch.memory(),
                at,
                new WalRecordFormat.Header(
                        lsn, 0, lastSequenceKept, pg, WalRecordFormat.DROP_TAIL, 0, 0, 0, 0));
        batch.copied();
        wakeSyncThread(true);
    }

    /** The LSN up to which everything is durable. */
    public long syncedLsn() {
        return syncedLsn;
    }

    /**
     * Lets an idle log say that its last batch was synced, which else the next one says: until then
     * damage in it cannot be told from the torn end of the log. Called now and then by one thread.
     *
     * @param nowNanos of any clock
     */
    public void markIdle(long nowNanos) {
        long synced = syncedLsn;
        if (synced == markedLsn || synced != unmarkedLsn) {
            unmarkedLsn = synced;
            unmarkedSinceNanos = nowNanos;
        } else if (nowNanos - unmarkedSinceNanos >= IDLE_NANOS) {
            markWanted = true;
            LockSupport.unpark(syncThread);
        }
    }

    /** The LSN up to which the log itself says that everything was synced. */
    public long markedLsn() {
        return markedLsn;
    }

    /** Everything up to the LSN is durable in the index: its segments may be used again. */
    public void trim(long trimLsn) {
        segments.recycle(trimLsn);
        trimmedLsn = trimLsn;
    }

    /**
     * How full the log is for writes: 1 and above means that they wait for the flusher. By bytes,
     * or by records, of which each also takes some heap until it is flushed.
     */
    public double fillRatio() {
        return Math.max(
                (double) usedBytes() / capacityBytes(),
                (double) (syncedLsn - trimmedLsn) / MAX_RECORDS);
    }

    public long usedBytes() {
        long before = Math.max(0, segments.liveCount() - 1);
        return before * segments.segmentBytes() + position + queuedBytes.get();
    }

    public long capacityBytes() {
        return (long) segments.usable() * segments.segmentBytes();
    }

    /** Syncs done since opening. */
    public long syncs() {
        return syncs.sum();
    }

    public boolean failed() {
        return failed;
    }

    /** Writes and syncs what was appended, then a batch that says so. */
    @Override
    public void close() {
        lock.lock();
        try {
            closing = true;
        } finally {
            lock.unlock();
        }
        segments.drain();
        LockSupport.unpark(syncThread);
        boolean interrupted = false;
        while (true) {
            try {
                syncThread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        releaseUnwritten();
        buffers.close();
        try {
            segments.close();
        } catch (IOException e) {
            LOG.warn("closing the write-ahead log of disk {}", segments.disk(), e);
        }
    }

    /** After a failure: what never became durable. */
    private void releaseUnwritten() {
        writing.forEach(WalBatch::durable);
        takeRound().forEach(WalBatch::durable);
    }

    // ---- appending

    private WalBatch batchFor(int aligned) {
        if (closing) {
            throw new IllegalStateException("the write-ahead log is closed");
        }
        if (aligned > maxBatchBytes - WalBatchFormat.BYTES || aligned > MAX_RECORD_BYTES) {
            throw new IllegalArgumentException(
                    "a record of " + aligned + " bytes does not fit into a segment");
        }
        WalBatch batch = active;
        if (batch != null && !batch.hasRoom(aligned)) {
            sealed.add(batch);
            batch = null;
        }
        if (batch == null) {
            batch = new WalBatch(nextLsn, buffers.take(aligned + WalBatchFormat.BYTES));
            active = batch;
        }
        queuedBytes.addAndGet(aligned);
        return batch;
    }

    private void wakeSyncThread(boolean urgent) {
        if (urgent) {
            segments.wake();
        }
        if (parked) {
            LockSupport.unpark(syncThread);
        }
    }

    private static void fillUp(ByteBuffer b, int from, int to) {
        for (int i = from; i < to; i++) {
            b.put(i, (byte) 0);
        }
    }

    // ---- the sync thread

    private void syncLoop() {
        try {
            while (true) {
                List<WalBatch> round = takeRound();
                if (!round.isEmpty()) {
                    writing = round;
                    if (!writeAndSync(round)) {
                        return;
                    }
                    writing = List.of();
                } else if (markWanted) {
                    markWanted = false;
                    WalSegment segment = current;
                    if (segment != null
                            && position + WalSegmentFormat.BYTES <= segments.segmentBytes()) {
                        writeMark();
                    }
                } else if (parkOrEnd()) {
                    writeMark();
                    return;
                }
            }
        } catch (Throwable e) { // an Error too: the thread must not end unnoticed
            fail(e);
        }
    }

    private void fail(Throwable e) {
        failed = true;
        segments.stop();
        fatal.fatal("write-ahead log of disk " + segments.disk() + " failed", e);
    }

    private List<WalBatch> takeRound() {
        lock.lock();
        try {
            List<WalBatch> round = new ArrayList<>(sealed);
            sealed.clear();
            WalBatch last = active;
            if (last != null) {
                round.add(last);
                active = null;
            }
            return round;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for work; true if there will be none any more. */
    private boolean parkOrEnd() {
        parked = true;
        try {
            lock.lock();
            boolean idle;
            boolean end;
            try {
                idle = active == null && sealed.isEmpty() && !markWanted;
                end = closing;
            } finally {
                lock.unlock();
            }
            if (idle && end) {
                return true;
            }
            if (idle) {
                LockSupport.park(this);
            }
            return false;
        } finally {
            parked = false;
        }
    }

    private boolean writeAndSync(List<WalBatch> round) throws IOException, InterruptedException {
        WalSegment unsynced = null;
        for (WalBatch batch : round) {
            while (!batch.complete()) {
                Thread.onSpinWait();
            }
            if (failed) {
                return false;
            }
            WalSegment segment = place(batch, round);
            if (segment == null) {
                return false;
            }
            if (unsynced != null && unsynced != segment) {
                force(unsynced);
            }
            unsynced = segment;
            int at = position;
            segment.device().write(batch.seal(segment, at, syncedLsn, segments.disk()), at);
            position = at + batch.paddedLength();
        }
        if (unsynced != null) {
            force(unsynced);
        }
        markedLsn = syncedLsn;
        long freed = 0;
        for (WalBatch batch : round) {
            syncedLsn = batch.lastLsn();
            freed += batch.usedBytes() - WalBatchFormat.BYTES;
            batch.runCallbacks();
            batch.durable();
        }
        queuedBytes.addAndGet(-freed);
        return true;
    }

    /** The segment the batch goes to, at {@link #position}; its header is written if it is new. */
    private @Nullable WalSegment place(WalBatch batch, List<WalBatch> round)
            throws IOException, InterruptedException {
        WalSegment segment = current;
        if (segment != null && position + batch.paddedLength() <= segments.segmentBytes()) {
            return segment;
        }
        return nextSegment(batch.firstLsn(), round);
    }

    private @Nullable WalSegment nextSegment(long firstLsn, List<WalBatch> round)
            throws IOException, InterruptedException {
        WalSegment segment = segments.next(firstLsn, salts.nextLong(), () -> urgent(round));
        current = segment;
        if (segment != null) {
            WalSegmentFormat.Header use = segment.use();
            ByteBuffer page = ByteBuffer.allocateDirect(WalSegmentFormat.BYTES);
            if (use != null) {
                WalSegmentFormat.encode(page, use);
            }
            segment.device().write(page, 0);
            position = WalSegmentFormat.BYTES;
        }
        return segment;
    }

    private boolean urgent(List<WalBatch> round) {
        if (round.stream().anyMatch(WalBatch::urgent)) {
            return true;
        }
        lock.lock();
        try {
            WalBatch last = active;
            return sealed.stream().anyMatch(WalBatch::urgent) || (last != null && last.urgent());
        } finally {
            lock.unlock();
        }
    }

    private void force(WalSegment segment) throws IOException {
        segment.device().force();
        syncs.increment();
    }

    /** A batch of no records: lets recovery know that the last batch before was synced. */
    private void writeMark() throws IOException, InterruptedException {
        if (current == null) {
            return;
        }
        WalBatch empty = new WalBatch(syncedLsn + 1, buffers.take(WalBatchFormat.BYTES));
        try {
            WalSegment segment = place(empty, List.of());
            if (segment != null) {
                int at = position;
                segment.device().write(empty.seal(segment, at, syncedLsn, segments.disk()), at);
                segment.device().force();
                position = at + empty.paddedLength();
                markedLsn = syncedLsn;
            }
        } finally {
            empty.durable();
        }
    }
}
