package io.cairn.dataserver.store;

import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.wal.PayloadReader;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.cairn.dataserver.wal.WalRecordFormat;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Lets the log be trimmed although something in its oldest part cannot be flushed: that is logged
 * once more, at the end. For the flusher.
 *
 * <ul>
 *   <li>Deferred operations, one by one. A recovery takes the newest record for one, because the
 *       durable index says that it is deferred.
 *   <li>All that a PG has in the log, in its order and with nothing between, where the first of it
 *       is not committed, as of a replica that has left its PG or whose primary is away. A recovery
 *       that finds the first records passes over the others; one that finds only the last ones of
 *       the first, and so a hole, finds it filled by the others.
 * </ul>
 *
 * <p>The oldest first, of the older half of the log, and no more at once than fits into memory. Not
 * when all of it would fill a good part of the log itself: then writes wait until blocks are
 * repaired, or operations committed.
 */
final class CarryForward {
    /** From here on the log needs its oldest part. */
    private static final double FILL = 0.5;

    /** Share of what is in the log that this may be: so it is written twice at most, on average. */
    private static final double MAX_SHARE = 0.5;

    /** Share of what is free that this may take: others go on to write meanwhile. */
    private static final double MAX_SHARE_OF_FREE = 0.75;

    /**
     * Bytes read, and waiting to be synced: twice as much of direct memory. More than a PG has in
     * flight.
     */
    private static final long MAX_AT_ONCE = 48 << 20;

    /** While something is logged for a PG behind that which is to be logged again. */
    private static final int ATTEMPTS = 4;

    /** Of a record, at most, besides payload, checksums and extents. */
    private static final long HEAD_BYTES = 512;

    private static final long CRC_BYTES = 4;

    private final Wal wal;
    private final Collection<PgStore> pgs;
    private final List<Again> moving = new ArrayList<>();
    private long movingBytes;

    /** Whose payload could not be read from the log: they stay where they are. */
    private final Set<LoggedOp> unreadable = Collections.newSetFromMap(new IdentityHashMap<>());

    /** An operation with its second record. */
    record Again(LoggedOp op, WalRecord record) {}

    /** What a PG has in the log, and cannot flush. */
    private record Stuck(PgStore pg, List<LoggedOp> ops) {}

    CarryForward(Wal wal, Collection<PgStore> pgs) {
        this.wal = wal;
        this.pgs = pgs;
    }

    /**
     * Once all are durable at their new place they are not needed at the old one. Not sooner: where
     * one of a PG has moved, those behind it are taken to be behind it in the log too.
     */
    void settle() {
        if (!moving.isEmpty() && moving.getLast().record().lsn() <= wal.syncedLsn()) {
            moving.forEach(a -> a.op().logged(a.record()));
            moving.clear();
            movingBytes = 0;
        }
    }

    /**
     * Whether the log is to be relieved: where what is in the way can be moved, and there is room
     * for all that would be.
     *
     * @param trimLsn what hinders trimming is right behind it
     * @param trimmedLsn up to which the log was trimmed: before that has come as far as it can now,
     *     only what is deferred is in the way
     */
    boolean due(long trimLsn, long trimmedLsn) {
        double fill = wal.fillRatio();
        if (!moving.isEmpty() || fill < FILL) {
            return false;
        }
        long oldEnd = oldEnd(trimLsn);
        List<LoggedOp> all = deferred();
        boolean hinders = all.stream().anyMatch(o -> isNext(o, trimLsn));
        for (PgStore pg : pgs) {
            List<LoggedOp> stuck = pg.stuck(oldEnd);
            hinders |=
                    trimLsn == trimmedLsn
                            && !stuck.isEmpty()
                            && isNext(stuck.getFirst(), trimLsn)
                            && isMovable(stuck);
            all.addAll(stuck);
        }
        unreadable.retainAll(all);
        long bytes = bytes(all);
        return hinders
                && bytes <= MAX_SHARE * fill * wal.capacityBytes()
                && all.size() <= MAX_SHARE * (wal.syncedLsn() - trimmedLsn)
                && hasRoom(bytes);
    }

    private boolean hasRoom(long bytes) {
        return bytes <= MAX_SHARE_OF_FREE * wal.freeBytes();
    }

    private boolean isNext(LoggedOp o, long trimLsn) {
        return o.record().lsn() == trimLsn + 1 && movable(o);
    }

    /**
     * Repairs too: a recovery takes them for void, or lays the same bytes over a block again. Steps
     * of a learner only where they are deferred, see {@link PgStore#stuck}.
     */
    private boolean movable(LoggedOp o) {
        return !unreadable.contains(o);
    }

    private boolean isMovable(List<LoggedOp> stuck) {
        return bytes(stuck) <= MAX_AT_ONCE && stuck.stream().allMatch(this::movable);
    }

    /**
     * What is stuck or deferred in the newer half of the log is not in the way yet, nor perhaps
     * ever. What has just moved is there: so the next time there is room for others.
     */
    private long oldEnd(long trimLsn) {
        return trimLsn + (wal.syncedLsn() - trimLsn) / 2;
    }

    /** What it takes in the log; a large write has its payload in the data file. */
    private static long bytes(LoggedOp o) {
        WalRecord r = o.record();
        return HEAD_BYTES
                + CRC_BYTES * r.op().blockCrcs().length
                + (long) WalRecordFormat.EXTENT_BYTES * r.extents().size()
                + (o.isDirect() ? 0 : r.payloadLength());
    }

    private static long bytes(List<LoggedOp> some) {
        return some.stream().mapToLong(CarryForward::bytes).sum();
    }

    private static long lsn(LoggedOp o) {
        return o.record().lsn();
    }

    private List<LoggedOp> deferred() {
        List<LoggedOp> all = new ArrayList<>();
        pgs.forEach(pg -> all.addAll(pg.deferred()));
        return all;
    }

    /** The index, which says what is deferred, must be durable. */
    void move(long trimLsn, PayloadReader payloads) {
        long oldEnd = oldEnd(trimLsn);
        List<LoggedOp> deferred = deferred();
        deferred.sort(Comparator.comparingLong(CarryForward::lsn));
        for (LoggedOp o : deferred) {
            if (lsn(o) <= oldEnd && mayMove(bytes(o))) {
                move(o, payloads);
            }
        }
        SortedMap<Long, Stuck> byFirst = new TreeMap<>();
        for (PgStore pg : pgs) {
            List<LoggedOp> stuck = pg.stuck(oldEnd);
            if (!stuck.isEmpty() && isMovable(stuck)) {
                byFirst.put(lsn(stuck.getFirst()), new Stuck(pg, stuck));
            }
        }
        byFirst.values().forEach(s -> moveStuck(s, oldEnd, payloads));
    }

    /** Besides what is moving already; others may have filled the log since that began. */
    private boolean mayMove(long bytes) {
        return movingBytes + bytes <= MAX_AT_ONCE && hasRoom(bytes);
    }

    private void addMoving(Again again) {
        moving.add(again);
        movingBytes += bytes(again.op());
    }

    private void move(LoggedOp o, PayloadReader payloads) {
        ByteBuf payload = payload(o, payloads);
        if (payload != null) {
            try {
                addMoving(new Again(o, wal.appendAgain(o.record(), payload)));
            } finally {
                payload.release();
            }
        }
    }

    /** All or nothing. The payloads are read while the PG's owner may log more. */
    private void moveStuck(Stuck found, long oldEnd, PayloadReader payloads) {
        Map<LoggedOp, ByteBuf> read = new IdentityHashMap<>();
        List<LoggedOp> stuck = found.ops();
        try {
            for (int i = 0; i < ATTEMPTS && !stuck.isEmpty(); i++) {
                long bytes = bytes(stuck);
                List<ByteBuf> all = mayMove(bytes) ? readAll(stuck, payloads, read) : List.of();
                if (all.size() < stuck.size() || !mayMove(bytes)) {
                    return;
                }
                List<Again> again = found.pg().logAgain(wal, oldEnd, stuck, all);
                again.forEach(this::addMoving);
                stuck = again.isEmpty() ? found.pg().stuck(oldEnd) : List.of();
            }
        } finally {
            read.values().forEach(ByteBuf::release);
        }
    }

    /**
     * Of all, or of fewer if one cannot be read.
     *
     * @param read what was read before; gets what is read now
     */
    private List<ByteBuf> readAll(
            List<LoggedOp> some, PayloadReader payloads, Map<LoggedOp, ByteBuf> read) {
        List<ByteBuf> all = new ArrayList<>(some.size());
        for (LoggedOp o : some) {
            ByteBuf known = read.get(o);
            ByteBuf payload = known == null ? payload(o, payloads) : known;
            if (payload == null) {
                return all;
            }
            read.put(o, payload);
            all.add(payload);
        }
        return all;
    }

    /** Null if it cannot be read. */
    private @Nullable ByteBuf payload(LoggedOp o, PayloadReader payloads) {
        if (!movable(o)) {
            return null;
        }
        if (o.isDirect()) {
            return Unpooled.EMPTY_BUFFER;
        }
        ByteBuf payload;
        try {
            payload = LocalDiskStore.payload(o.record(), o, payloads);
        } catch (FsException e) {
            payload = null;
        }
        if (payload == null) {
            unreadable.add(o);
        }
        return payload;
    }
}
