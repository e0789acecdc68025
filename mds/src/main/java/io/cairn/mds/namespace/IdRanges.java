package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AcquireIdsOp;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.Pool;
import io.cairn.mds.proto.HeldRange;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateTx;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Ranges of inode ids that sessions have for what they make, so that a client knows the id of a
 * file before the file is made.
 *
 * <pre>
 *             first                next              last
 *               │ made, or passed over │ unused         │
 *   acquired ───▶ used, ascending ─────▶────────────────▶ used up: gone
 *                                      │ closed, given back: gone
 *                                      └ evicted, refused by all data servers: in the deletion queue
 * </pre>
 *
 * <p>A range is in the record of its session, as each use changes it, and in a row that is found by
 * any id of it, for scrubs. Ids from {@code next} on may have data on the data servers, which the
 * client sent before anything was made with them. Who passes ids over says that nothing was sent
 * for them.
 *
 * <p>The applying thread only, except for what scrubs ask.
 */
public final class IdRanges {
    /** Ids of a range, at most: also what one record of the deletion queue names. */
    public static final int MAX_IDS = 1024;

    /** Ranges of a session, with ids left: one in use, and the one that follows. */
    static final int MAX_RANGES = 2;

    /** Rows whose last ids are alike but for these bytes lie together. */
    private static final int BLOCK_BYTES = 2;

    private IdRanges() {}

    // ---- a session's --------------------------------------------------------

    static MutationResult acquire(StateTx tx, Caller caller, AcquireIdsOp op) {
        int count = op.getCount();
        if (count < 1 || count > MAX_IDS) {
            throw new FsException(
                    Errno.EINVAL,
                    "a range of " + Integer.toUnsignedString(count) + " ids, not of 1 to 1024");
        }
        SessionRecord session = Sessions.requireServed(tx, caller.session());
        if (session.getIdRangesCount() >= MAX_RANGES) {
            throw new FsException(
                    Errno.EBUSY,
                    "session %d has ids left: %s".formatted(caller.session(), text(session)));
        }
        long first = op.getFirst() != 0 ? op.getFirst() : tx.tally.maxInode + 1;
        long last = last(first, op);
        tx.tally.maxInode = last;
        tx.put(
                key(last),
                ByteBuffer.allocate(2 * Long.BYTES)
                        .putLong(first)
                        .putLong(caller.session())
                        .array());
        tx.putSession(
                session.toBuilder()
                        .addIdRanges(
                                HeldRange.newBuilder().setFirst(first).setLast(last).setNext(first))
                        .build());
        return MutationResult.newBuilder()
                .setIds(IdRange.newBuilder().setFirst(first).setLast(last))
                .build();
    }

    /**
     * @param first which the leader has filled in
     */
    static long last(long first, AcquireIdsOp op) {
        return first + Math.max(0, op.getCount() - 1);
    }

    /** EINVAL unless the session may make something with that id now. */
    static void require(StateTx tx, long session, long id) {
        SessionRecord record = Sessions.requireServed(tx, session);
        for (HeldRange range : record.getIdRangesList()) {
            if (range.getNext() <= id && id <= range.getLast()) {
                return;
            }
        }
        throw new FsException(
                Errno.EINVAL,
                "inode id %d is not for session %d to use, which has %s"
                        .formatted(id, session, text(record)));
    }

    /**
     * Something is made with the id: the next one is above it, and earlier ranges are passed over.
     * So an id whose operation has failed keeps no range that its client holds for used up.
     */
    static void use(StateTx tx, long session, long id) {
        SessionRecord record = Sessions.requireServed(tx, session);
        SessionRecord.Builder used = record.toBuilder().clearIdRanges();
        for (HeldRange range : record.getIdRangesList()) {
            if (range.getLast() <= id) {
                tx.delete(key(range.getLast()));
            } else if (range.getFirst() <= id) {
                used.addIdRanges(range.toBuilder().setNext(id + 1));
            } else {
                used.addIdRanges(range);
            }
        }
        tx.putSession(used.build());
    }

    static MutationResult giveBack(StateTx tx, Caller caller) {
        SessionRecord session = Sessions.requireServed(tx, caller.session());
        session.getIdRangesList().forEach(range -> tx.delete(key(range.getLast())));
        tx.putSession(session.toBuilder().clearIdRanges().build());
        return MutationResult.getDefaultInstance();
    }

    private static String text(SessionRecord session) {
        return session.getIdRangesCount() == 0
                ? "no range"
                : session.getIdRangesList().stream()
                        .map(range ->
                                "%d to %d of %d to %d"
                                        .formatted(
                                                range.getNext(),
                                                range.getLast(),
                                                range.getFirst(),
                                                range.getLast()))
                        .collect(Collectors.joining(", "));
    }

    // ---- the end of a session -----------------------------------------------

    /**
     * Takes a range off a session that ends: one in each slice, as there may be many pools. Of one
     * that every data server refuses, what was sent for the unused ids is deleted. One that was
     * closed has said that it left nothing.
     *
     * @param slice 0: all ranges
     */
    static SessionRecord release(StateTx tx, SessionRecord session, int slice) {
        List<HeldRange> ranges = new ArrayList<>(session.getIdRangesList());
        if (ranges.isEmpty()) {
            return session;
        }
        boolean all = slice <= 0 || !session.getRefused();
        List<HeldRange> released = all ? ranges : ranges.subList(0, 1);
        for (HeldRange range : released) {
            tx.delete(key(range.getLast()));
            if (session.getRefused()) {
                for (Pool pool : tx.map.pools()) {
                    DeletionQueue.addUnused(tx, pool.getId(), range.getNext(), range.getLast());
                }
            }
        }
        released.clear();
        return session.toBuilder().clearIdRanges().addAllIdRanges(ranges).build();
    }

    static void putUnused(StateTx tx, int pool, long first, long last) {
        tx.put(unusedKey(pool, last), MetaKeys.longValue(first));
    }

    static void removeUnused(StateTx tx, int pool, long last) {
        if (tx.get(unusedKey(pool, last)) == null) {
            throw new CorruptStateException(
                    "unused ids up to " + last + " are queued, and not noted so");
        }
        tx.delete(unusedKey(pool, last));
    }

    // ---- whose an id is -----------------------------------------------------

    /** Whether it is of a range of a session that has not ended. */
    static boolean isHeld(Ownership.FirstRow rows, long id) {
        return isOfRange(id, key(id), key(id + MAX_IDS - 1), rows);
    }

    /** Whether it was never used, and what the pool has of it is being deleted. */
    static boolean isBeingDeleted(Ownership.FirstRow rows, int pool, long id) {
        return isOfRange(id, unusedKey(pool, id), unusedKey(pool, id + MAX_IDS - 1), rows);
    }

    /**
     * Ranges do not overlap, and the row of each is under its last id. Only a part of the rows is
     * looked at, in which that must be: ranges that are gone leave tombstones.
     */
    private static boolean isOfRange(long id, byte[] from, byte[] end, Ownership.FirstRow rows) {
        if (id <= 0 || id >>> MutationBatch.SHARD_SHIFT != 0) {
            return false;
        }
        byte[] block = block(from);
        byte[] endBlock = block(end);
        KeyValue row = rows.of(block, from);
        if (row == null && !Arrays.equals(block, endBlock)) {
            row = rows.of(endBlock, endBlock);
        }
        return row != null && first(row) <= id;
    }

    private static byte[] block(byte[] key) {
        return Arrays.copyOf(key, key.length - BLOCK_BYTES);
    }

    private static long first(KeyValue row) {
        return MetaKeys.longAt(row.value(), 0);
    }

    private static byte[] key(long last) {
        return MetaKeys.of(MetaKeys.ID_RANGE, last);
    }

    private static byte[] unusedKey(int pool, long last) {
        return MetaKeys.ofMap(MetaKeys.UNUSED_IDS, pool, last);
    }
}
