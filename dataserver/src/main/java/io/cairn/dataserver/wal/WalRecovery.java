package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DiskOpenException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the records of a log after a stop of any kind. Used once, by the opening thread.
 *
 * <p>A segment holds the LSNs from its first up to the smallest first one of all later generations:
 * what lies beyond was the tail of an earlier recovery and is void. Records must then follow each
 * other without a gap. A gap at or below the highest LSN that any batch says was synced is damage,
 * a gap above it is the end of the log.
 *
 * <p>Everything is read past the page cache. After a sync that failed, the cache has pages that it
 * calls clean and the device has not: a log that was read from there would hold operations that a
 * power cut takes away, though the replica has told others of them.
 */
final class WalRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(WalRecovery.class);
    private static final int PAGE = WalSegmentFormat.BYTES;

    private final WalSegments segments;
    private final DataFile data;
    private final long trimLsn;
    private final List<Found> found = new ArrayList<>();
    private final SegmentWindow window;
    private long highestSynced;

    WalRecovery(WalSegments segments, DataFile data, long trimLsn) {
        this.segments = segments;
        this.window = new SegmentWindow(segments.segmentBytes());
        this.data = data;
        this.trimLsn = trimLsn;
    }

    /** A record, or one that could not be read whose LSN lies in an intact batch. */
    private record Found(
            WalRecordFormat.Header header,
            @Nullable WalRecord record,
            boolean intact,
            WalSegment segment,
            long position) {}

    /** Hands out what is logged above the trim LSN and returns the last LSN. */
    long run(WalReplay replay) throws IOException, DiskOpenException {
        List<WalSegment> used = usedSegments();
        List<WalSegment> live = new ArrayList<>();
        for (int i = 0; i < used.size(); i++) {
            long end = rangeEnd(used, i);
            WalSegment s = used.get(i);
            if (end > trimLsn + 1 && end > s.firstLsn()) {
                // A killed process leaves pages in the cache that are not on the device yet.
                s.device().force();
                live.add(s);
                scan(s, end);
            }
        }
        long last = replayAll(replay);
        live.removeIf(s -> s.firstLsn() > last);
        long highestGeneration = used.isEmpty() ? 0 : used.getLast().generation();
        segments.recovered(live, highestGeneration);
        LOG.info(
                "write-ahead log of disk {}: LSN {} to {} in {} segments",
                segments.disk(),
                trimLsn + 1,
                last,
                live.size());
        return last;
    }

    /** Those with a header of this disk, oldest generation first. */
    private List<WalSegment> usedSegments() throws IOException, DiskOpenException {
        List<WalSegment> used = new ArrayList<>();
        for (WalSegment s : segments.all()) {
            ByteBuffer page = readAt(s, 0, PAGE);
            WalSegmentFormat.Header header = WalSegmentFormat.decode(page);
            if (header == null && !allZero(page)) {
                header = headerFromBatches(s);
            }
            if (header == null) {
                continue;
            }
            if (!header.disk().equals(segments.disk())) {
                throw new DiskOpenException(
                        s.path()
                                + " belongs to disk "
                                + header.disk()
                                + ", not to "
                                + segments.disk());
            }
            s.use(header);
            used.add(s);
        }
        used.sort(Comparator.comparingLong(WalSegment::generation));
        return used;
    }

    /** The batches repeat what the header says: those of the newest use stand in for it. */
    private WalSegmentFormat.@Nullable Header headerFromBatches(WalSegment s) throws IOException {
        WalSegmentFormat.Header best = null;
        for (long at = PAGE; at + PAGE <= segments.segmentBytes(); at += PAGE) {
            WalBatchFormat.Header batch =
                    WalBatchFormat.decode(readAt(s, at, PAGE), 0, segments.disk());
            if (batch != null && (best == null || batch.generation() > best.generation())) {
                best =
                        new WalSegmentFormat.Header(
                                segments.disk(),
                                segments.segmentBytes(),
                                batch.generation(),
                                batch.salt(),
                                batch.firstLsn());
            }
        }
        LOG.warn("{}: header is damaged; its batches give {}", s.path(), best);
        return best;
    }

    private static long rangeEnd(List<WalSegment> used, int i) {
        long end = Long.MAX_VALUE;
        for (WalSegment later : used.subList(i + 1, used.size())) {
            end = Math.min(end, later.firstLsn());
        }
        return end;
    }

    private void scan(WalSegment s, long rangeEnd) throws IOException, DiskOpenException {
        long at = PAGE;
        while (at + PAGE <= segments.segmentBytes()) {
            ByteBuffer page = readAt(s, at, PAGE);
            WalBatchFormat.Header batch = WalBatchFormat.decode(page, 0, segments.disk());
            if (batch == null
                    || batch.salt() != s.salt()
                    || batch.generation() != s.generation()
                    || batch.length() < WalBatchFormat.BYTES
                    || batch.length() > segments.segmentBytes() - at) {
                at += PAGE;
                continue;
            }
            // Also of the mark that ends a segment, whose LSN is the next segment's first.
            highestSynced = Math.max(highestSynced, batch.syncedLsn());
            if (batch.firstLsn() >= rangeEnd) {
                return;
            }
            records(s, at, batch, rangeEnd);
            at += (batch.length() + PAGE - 1) & -PAGE;
        }
    }

    private void records(WalSegment s, long position, WalBatchFormat.Header batch, long rangeEnd)
            throws IOException, DiskOpenException {
        long lastLsn = Math.min(batch.firstLsn() + batch.records(), rangeEnd) - 1;
        if (lastLsn <= trimLsn) {
            return;
        }
        ByteBuffer b = readAt(s, position, batch.length());
        WalBatch home = new WalBatch(batch.firstLsn(), s, position);
        int at = WalBatchFormat.BYTES;
        for (long lsn = batch.firstLsn(); lsn <= lastLsn; lsn++) {
            WalRecordFormat.Header h = WalRecordFormat.decode(b, at, batch.length(), s.salt());
            if (h == null || h.lsn() != lsn) {
                return;
            }
            if (lsn > trimLsn) {
                found.add(read(s, position + at, b, at, h, home));
            }
            at += WalRecordFormat.aligned(h.length());
        }
    }

    private Found read(
            WalSegment s,
            long position,
            ByteBuffer b,
            int at,
            WalRecordFormat.Header h,
            WalBatch home)
            throws DiskOpenException {
        if (h.type() == WalRecordFormat.DROP_TAIL) {
            return new Found(h, null, true, s, position);
        }
        if (h.type() < WalRecordFormat.OPERATION || h.type() > WalRecordFormat.LEARNER) {
            throw unknown(s, position, h);
        }
        ByteBuffer head = b.slice(at + WalRecordFormat.BYTES, h.headLength());
        LearnerStep step = null;
        DataOp op;
        if (h.type() == WalRecordFormat.LEARNER) {
            var decoded = LearnerStepFormat.decode(head, h.pg(), h.payloadLength());
            if (decoded == null) {
                throw unknown(s, position, h);
            }
            step = decoded.step();
            op = decoded.op();
        } else {
            op = DataOpFormat.decode(head);
        }
        if (h.type() == WalRecordFormat.DIRECT_OPERATION) {
            return direct(s, position, h, op, WalRecordFormat.decodeExtents(b, at, h));
        }
        int payloadAt = at + h.length() - h.payloadLength();
        ByteBuffer payload = b.slice(payloadAt, h.payloadLength());
        boolean intact =
                op.type() == DataOpType.WRITE
                        ? BlockCrc.firstMismatch(payload, op.offset(), op.blockCrcs()) < 0
                        : h.payloadLength() == 0 || BlockCrc.of(payload) == h.payloadCrc();
        WalRecord record =
                new WalRecord(
                        h.lsn(),
                        h.epoch(),
                        h.sequence(),
                        op,
                        h.type() == WalRecordFormat.REPAIR,
                        step,
                        home,
                        payloadAt,
                        h.payloadLength(),
                        List.of());
        return new Found(h, record, intact, s, position);
    }

    private static DiskOpenException unknown(
            WalSegment s, long position, WalRecordFormat.Header h) {
        return new DiskOpenException(
                String.format(
                        "%s has a record of type %d at %d, which this program does not know:"
                                + " a newer one wrote it",
                        s.path(), h.type(), position));
    }

    /** The payload was durable before the record was written; it is verified when it is read. */
    private Found direct(
            WalSegment s,
            long position,
            WalRecordFormat.Header h,
            DataOp op,
            List<BlockRun> extents)
            throws DiskOpenException {
        long blocks = 0;
        for (BlockRun run : extents) {
            boolean inside = run.first() > 0 && run.count() > 0 && run.end() <= data.blocks();
            blocks += inside ? run.count() : Integer.MIN_VALUE;
        }
        if (blocks != BlockCrc.count(op.offset(), op.length())) {
            throw new DiskOpenException(
                    s.path() + " at " + position + ": " + extents + " cannot be the write's");
        }
        WalRecord record =
                WalRecord.direct(h.lsn(), h.epoch(), h.sequence(), op, List.copyOf(extents), data);
        return new Found(h, record, true, s, position);
    }

    private long replayAll(WalReplay replay) throws IOException, DiskOpenException {
        long expected = trimLsn + 1;
        for (Found f : found) {
            if (f.header().lsn() != expected) {
                break;
            }
            WalRecord record = f.record();
            if (!f.intact()) {
                boolean write = record != null && record.op().type() == DataOpType.WRITE;
                if (expected > highestSynced || !write) {
                    break;
                }
                LOG.error(
                        "write-ahead log of disk {}: payload of LSN {} is damaged, {} at {}",
                        segments.disk(),
                        expected,
                        f.segment().path(),
                        f.position());
            }
            if (record == null) {
                replay.dropTail(f.header().pg(), f.header().sequence());
            } else {
                replay.operation(record);
            }
            expected++;
        }
        if (expected <= highestSynced) {
            throw new WalDamagedException(expected, where(expected));
        }
        return expected - 1;
    }

    private String where(long lsn) {
        for (Found f : found) {
            if (f.header().lsn() == lsn) {
                return f.segment().path() + " at " + f.position();
            }
        }
        return "no record has it";
    }

    private static boolean allZero(ByteBuffer page) {
        return page.mismatch(ByteBuffer.allocate(page.remaining())) < 0;
    }

    /** Valid until the next call. */
    private ByteBuffer readAt(WalSegment s, long position, int length) throws IOException {
        return window.read(s, position, length);
    }
}
