package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.PageBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The thread of a log: writes all batches there are, syncs once, then runs their callbacks, so that
 * an idle log syncs at once and a busy one in groups. Everything private happens on that thread;
 * the other methods may be called by any thread.
 */
final class WalSync {
    private final WalSegments segments;
    private final WalAppender appender;
    private final WalBuffers buffers;
    private final WalFailure failure;
    private final SecureRandom salts = new SecureRandom();
    private final Thread thread;
    private final LongAdder syncs = new LongAdder();

    private volatile long syncedLsn;
    private volatile long markedLsn;
    private volatile int position;
    private volatile boolean markWanted;
    // the thread of the log only
    private @Nullable WalSegment current;
    private List<WalBatch> writing = List.of();

    /**
     * @param lastLsn of the log as it was recovered
     * @param name for the thread
     */
    WalSync(
            WalSegments segments,
            WalAppender appender,
            WalBuffers buffers,
            WalFailure failure,
            long lastLsn,
            String name) {
        this.segments = segments;
        this.appender = appender;
        this.buffers = buffers;
        this.failure = failure;
        this.syncedLsn = lastLsn;
        this.markedLsn = lastLsn;
        this.thread = Thread.ofPlatform().name(name + "-wal").daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** The LSN up to which everything is durable. */
    long syncedLsn() {
        return syncedLsn;
    }

    /** The LSN up to which the log itself records that everything was synced. */
    long markedLsn() {
        return markedLsn;
    }

    /** Where the next batch goes in the segment that is being written. */
    int position() {
        return position;
    }

    /** Syncs done since opening. */
    long syncs() {
        return syncs.sum();
    }

    /** Writes a mark that the last batch was synced, unless a further batch records that first. */
    void mark() {
        markWanted = true;
        appender.wake();
    }

    /**
     * Returns when the thread has ended: after what was appended is durable, or after a failure,
     * when what never became durable is released. The appender must be closed before.
     */
    void awaitEnd() {
        appender.wake();
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        writing.forEach(WalBatch::durable);
        appender.takeRound().forEach(WalBatch::durable);
    }

    private void run() {
        try {
            while (true) {
                List<WalBatch> round = appender.takeRound();
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
                } else if (appender.parkOrEnd(() -> markWanted)) {
                    writeMark();
                    return;
                }
            }
        } catch (Throwable e) { // an Error too: the thread must not end unnoticed
            failure.fail(e);
        }
    }

    private boolean writeAndSync(List<WalBatch> round) throws IOException, InterruptedException {
        WalSegment unsynced = null;
        for (WalBatch batch : round) {
            while (!batch.complete()) {
                Thread.onSpinWait();
            }
            if (failure.failed()) {
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
        if (failure.failed()) {
            return false; // given up meanwhile: nobody counts on it any more
        }
        markedLsn = syncedLsn;
        long freed = 0;
        for (WalBatch batch : round) {
            syncedLsn = batch.lastLsn();
            freed += batch.usedBytes() - WalBatchFormat.BYTES;
            batch.runCallbacks();
            batch.durable();
        }
        appender.durable(freed);
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
        WalSegment segment =
                segments.next(
                        firstLsn,
                        salts.nextLong(),
                        () -> round.stream().anyMatch(WalBatch::urgent) || appender.urgent());
        current = segment;
        if (segment != null) {
            WalSegmentFormat.Header use = segment.use();
            ByteBuffer page = PageBuffers.allocate(WalSegmentFormat.BYTES);
            if (use != null) {
                WalSegmentFormat.encode(page, use);
            }
            segment.device().write(page, 0);
            position = WalSegmentFormat.BYTES;
        }
        return segment;
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
