package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.disk.BlockRun;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives records their LSN and copies them into the batch that is being filled. Room in the batch is
 * taken under the lock, the bytes are copied outside of it. Any thread appends; one, the sync
 * thread, takes the batches and waits for more.
 */
final class WalAppender {
    private final WalSegments segments;
    private final WalBuffers buffers;
    private final WalFailure failure;
    private final int maxBatchBytes;

    private final ReentrantLock lock = new ReentrantLock();
    // guarded by lock
    private final ArrayDeque<WalBatch> sealed = new ArrayDeque<>();
    private @Nullable WalBatch active;
    private long nextLsn;
    private boolean closing;

    private final AtomicLong queuedBytes = new AtomicLong();
    private volatile @Nullable Thread parked;

    WalAppender(WalSegments segments, WalBuffers buffers, WalFailure failure, long lastLsn) {
        this.segments = segments;
        this.buffers = buffers;
        this.failure = failure;
        this.maxBatchBytes = segments.maxBatchBytes();
        this.nextLsn = lastLsn + 1;
    }

    // ---- any thread

    /**
     * Logs an operation; the payload is copied before this returns.
     *
     * @param type see {@link WalRecordFormat}
     * @param step null if it is an operation or a repair
     * @param extents where the payload of a large write is; else empty
     * @param durable called by the sync thread when it is durable, in order of LSN
     */
    WalRecord append(
            int type,
            long epoch,
            long sequence,
            DataOp op,
            @Nullable LearnerStep step,
            List<BlockRun> extents,
            ByteBuf payload,
            boolean urgent,
            Runnable durable) {
        int headLength =
                step == null ? DataOpFormat.encodedLength(op) : LearnerStepFormat.encodedLength(op);
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
            at = batch.reserve(aligned, durable, urgent);
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
            encodeHead(op, step, b.slice(at + WalRecordFormat.BYTES, headLength));
            WalRecordFormat.encodeExtents(b, at + WalRecordFormat.BYTES + headLength, extents);
            if (payloadLength > 0) {
                payload.getBytes(payload.readerIndex(), b.slice(payloadAt, payloadLength));
            }
            fillUp(b, at + length, at + aligned);
        } catch (RuntimeException | Error e) {
            // Half a record must never be written: recovery would take it for the end of the log.
            failure.fail(e);
            throw e;
        } finally {
            batch.copied();
        }
        wakeSyncThread(urgent);
        boolean repair = type == WalRecordFormat.REPAIR;
        return new WalRecord(
                lsn, epoch, sequence, op, repair, step, batch, payloadAt, payloadLength, extents);
    }

    private static void encodeHead(DataOp op, @Nullable LearnerStep step, ByteBuffer head) {
        if (step == null) {
            DataOpFormat.encode(op, head);
        } else {
            LearnerStepFormat.encode(step, op, head);
        }
    }

    /** Logs that the operations of the PG after the sequence are void. */
    void appendDropTail(int pg, long lastSequenceKept, Runnable durable) {
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

    /** From now on nothing can be appended. */
    void close() {
        lock.lock();
        try {
            closing = true;
        } finally {
            lock.unlock();
        }
    }

    /** Bytes of records appended and not yet durable. */
    long queuedBytes() {
        return queuedBytes.get();
    }

    /** Ends the sync thread's wait, if it waits. */
    void wake() {
        Thread waiting = parked;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }

    private void wakeSyncThread(boolean urgent) {
        if (urgent) {
            segments.wake();
        }
        wake();
    }

    private WalBatch batchFor(int aligned) {
        if (closing) {
            throw new IllegalStateException("the write-ahead log is closed");
        }
        if (aligned > maxBatchBytes - WalBatchFormat.BYTES || aligned > Wal.MAX_RECORD_BYTES) {
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

    private static void fillUp(ByteBuffer b, int from, int to) {
        for (int i = from; i < to; i++) {
            b.put(i, (byte) 0);
        }
    }

    // ---- the sync thread

    /** All batches there are, oldest first; appenders begin a new one. */
    List<WalBatch> takeRound() {
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

    /** These bytes of records are durable now. */
    void durable(long bytes) {
        queuedBytes.addAndGet(-bytes);
    }

    /** Whether a batch that waits has a record that may use the segments kept in reserve. */
    boolean urgent() {
        lock.lock();
        try {
            WalBatch last = active;
            return sealed.stream().anyMatch(WalBatch::urgent) || (last != null && last.urgent());
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for batches, or for {@link #wake}; true if there will be none any more.
     *
     * @param other whether there is other work than batches
     */
    boolean parkOrEnd(BooleanSupplier other) {
        // Set before the look: whoever adds work after it sees a thread to wake.
        parked = Thread.currentThread();
        try {
            lock.lock();
            boolean idle;
            boolean end;
            try {
                idle = active == null && sealed.isEmpty() && !other.getAsBoolean();
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
            parked = null;
        }
    }
}
