package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.OrphanId;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.proto.OrphanPlace;
import io.cairn.mds.proto.OrphanRecord;
import io.cairn.mds.proto.OrphansChangedEntry;
import io.cairn.mds.proto.OrphansFoundEntry;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateListener;
import io.cairn.mds.store.StateTx;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Data that scrubs have found in placement groups (PGs), and that is no file's in that pool: since
 * when, where, and what became of it.
 *
 * <pre>
 *   found, and nobody's          again, later        removed                  deleted in all PGs
 *   ──────────────────▶ noted ───────────────▶ noted ───────▶ in the queue ──────────────────▶ gone
 *                         ▲ │ kept, kept no longer                 the PG has it no more:  noted ──▶ gone
 *                         └─┘
 * </pre>
 *
 * <p>What is noted, or goes into the deletion queue, is decided by the state as of that very entry,
 * not by the one the leader asked. How often it has to be found, and whether it is to go, is the
 * leader's to decide. The applying thread only, except for {@link #parse}.
 */
final class OrphanedData {
    /** Records in all: more are noted when these have become fewer. */
    static final int MAX_RECORDS = 100_000;

    private static final byte[] COUNT = MetaKeys.prefix(MetaKeys.ORPHANED_COUNT);

    private OrphanedData() {}

    // ---- found ------------------------------------------------------------------

    /** Of a pool that is gone nothing is noted. */
    static ApplyReply.Builder found(StateTx tx, OrphansFoundEntry entry) {
        int pg = entry.getPg();
        int pool = PgHash.poolOf(pg);
        if (tx.map.pool(pool) == null) {
            return ApplyReply.newBuilder();
        }
        Set<Long> found = new HashSet<>();
        long orphans = entry.getUnlisted();
        long bytes = entry.getUnlistedBytes();
        for (FoundOrphan f : entry.getFoundList()) {
            Ownership now = Ownership.of(Ownership.View.of(tx), pool, f.getInode());
            if (!now.isOrphan()) {
                continue;
            }
            found.add(f.getInode());
            if (now == Ownership.NEVER_GIVEN_OUT) {
                SkippedIds.skip(tx, f.getInode());
            }
            OrphanRecord record = get(tx, pool, f.getInode());
            if (record == null && count(tx.get(COUNT)) >= MAX_RECORDS) {
                orphans++;
                bytes += f.getBytes();
                continue;
            }
            if (record == null || !record.getKept()) {
                orphans++;
                bytes += f.getBytes();
            }
            note(tx, pool, f, place(pg, f), record);
        }
        long last = entry.getFoundCount() == 0 ? 0 : lastOf(entry).getInode();
        vanished(tx, pg, found, entry.getUnlisted() == 0 ? -1 : last);
        OrphanLookRecord look =
                OrphanLookRecord.newBuilder()
                        .setTime(tx.now.toProto())
                        .setInodes(entry.getInodes())
                        .setBytes(entry.getBytes())
                        .setOrphans(orphans)
                        .setOrphanBytes(bytes)
                        .build();
        tx.put(MetaKeys.ofMap(MetaKeys.ORPHAN_LOOK, pg), look.toByteArray());
        tx.announce(StateListener::orphansChanged);
        return ApplyReply.newBuilder();
    }

    private static FoundOrphan lastOf(OrphansFoundEntry entry) {
        return entry.getFound(entry.getFoundCount() - 1);
    }

    private static OrphanPlace place(int pg, FoundOrphan found) {
        return OrphanPlace.newBuilder()
                .setPg(pg)
                .setChunks(found.getChunks())
                .setBytes(found.getBytes())
                .build();
    }

    private static void note(
            StateTx tx, int pool, FoundOrphan f, OrphanPlace place, @Nullable OrphanRecord before) {
        OrphanRecord.Builder record =
                before == null
                        ? OrphanRecord.newBuilder().setFirstSeen(tx.now.toProto())
                        : before.toBuilder();
        List<OrphanPlace> places = new ArrayList<>(record.getPlacesList());
        places.removeIf(p -> p.getPg() == place.getPg());
        places.add(place);
        places.sort(Comparator.comparingInt(OrphanPlace::getPg));
        record.clearPlaces().addAllPlaces(places).setLastSeen(tx.now.toProto());
        if (before == null) {
            count(tx, 1);
        }
        put(tx, pool, f.getInode(), record.build());
        tx.put(MetaKeys.ofMap(MetaKeys.ORPHANED_IN, place.getPg(), f.getInode()), new byte[0]);
    }

    /**
     * What the PG had at an earlier look, and has not now.
     *
     * @param upTo the look says nothing of ids above this one, by unsigned order
     */
    private static void vanished(StateTx tx, int pg, Set<Long> found, long upTo) {
        for (KeyValue row : tx.list(MetaKeys.ofMap(MetaKeys.ORPHANED_IN, pg))) {
            long inode = MetaKeys.longAt(row.key(), 5);
            if (Long.compareUnsigned(inode, upTo) > 0 || found.contains(inode)) {
                continue;
            }
            tx.delete(row.key());
            int pool = PgHash.poolOf(pg);
            OrphanRecord record = required(tx, pool, inode);
            List<OrphanPlace> left =
                    record.getPlacesList().stream().filter(p -> p.getPg() != pg).toList();
            if (left.isEmpty() && record.getDeletion() == 0) {
                forget(tx, pool, inode, record);
            } else {
                put(tx, pool, inode, record.toBuilder().clearPlaces().addAllPlaces(left).build());
            }
        }
    }

    // ---- changed ----------------------------------------------------------------

    /** Those that are gone, or a file's by now, are passed over. */
    static ApplyReply.Builder changed(StateTx tx, OrphansChangedEntry entry) {
        for (OrphanId id : entry.getOrphansList()) {
            int pool = id.getPool();
            OrphanRecord record = get(tx, pool, id.getInode());
            if (record == null || record.getDeletion() != 0) {
                continue;
            }
            if (entry.getRemove()) {
                remove(tx, pool, id.getInode(), record);
            } else {
                put(tx, pool, id.getInode(), record.toBuilder().setKept(entry.getKeep()).build());
            }
        }
        tx.announce(StateListener::orphansChanged);
        return ApplyReply.newBuilder();
    }

    private static void remove(StateTx tx, int pool, long inode, OrphanRecord record) {
        Ownership now = Ownership.of(Ownership.View.of(tx), pool, inode);
        if (!now.isOrphan()) {
            forget(tx, pool, inode, record);
        } else if (now.isRemovable() && !record.getKept()) {
            long place = DeletionQueue.addOrphan(tx, pool, inode, bytes(record));
            put(tx, pool, inode, record.toBuilder().setDeletion(place).build());
        }
    }

    /** All of its data is gone everywhere. */
    static void reaped(StateTx tx, int pool, long inode) {
        forget(tx, pool, inode, required(tx, pool, inode));
        tx.announce(StateListener::orphansChanged);
    }

    /**
     * EBUSY while data of the inode in that pool is being deleted: what would be written there now
     * would be deleted too.
     */
    static void requireNotDeleted(StateTx tx, int pool, long inode) {
        OrphanRecord record = get(tx, pool, inode);
        if (record != null && record.getDeletion() != 0) {
            throw new FsException(
                    Errno.EBUSY,
                    "orphaned data of inode %d is being removed from that pool: try again"
                            .formatted(inode));
        }
    }

    /** A removed pool has no data. */
    static void poolRemoved(StateTx tx, int pool) {
        for (KeyValue row : tx.list(MetaKeys.ofMap(MetaKeys.ORPHANED, pool))) {
            forget(tx, pool, MetaKeys.longAt(row.key(), 5), parse(row.value()));
        }
        for (KeyValue row : tx.list(MetaKeys.prefix(MetaKeys.ORPHAN_LOOK))) {
            if (PgHash.poolOf(MetaKeys.intAt(row.key(), 1)) == pool) {
                tx.delete(row.key());
            }
        }
        tx.announce(StateListener::orphansChanged);
    }

    private static void forget(StateTx tx, int pool, long inode, OrphanRecord record) {
        for (OrphanPlace place : record.getPlacesList()) {
            tx.delete(MetaKeys.ofMap(MetaKeys.ORPHANED_IN, place.getPg(), inode));
        }
        tx.delete(MetaKeys.ofMap(MetaKeys.ORPHANED, pool, inode));
        count(tx, -1);
    }

    // ---- rows -------------------------------------------------------------------

    static long bytes(OrphanRecord record) {
        return record.getPlacesList().stream().mapToLong(OrphanPlace::getBytes).sum();
    }

    private static @Nullable OrphanRecord get(StateTx tx, int pool, long inode) {
        byte[] row = tx.get(MetaKeys.ofMap(MetaKeys.ORPHANED, pool, inode));
        return row == null ? null : parse(row);
    }

    private static OrphanRecord required(StateTx tx, int pool, long inode) {
        OrphanRecord record = get(tx, pool, inode);
        if (record == null) {
            throw new CorruptStateException(
                    "orphaned data of inode " + inode + " is noted nowhere");
        }
        return record;
    }

    private static void put(StateTx tx, int pool, long inode, OrphanRecord record) {
        tx.put(MetaKeys.ofMap(MetaKeys.ORPHANED, pool, inode), record.toByteArray());
    }

    private static void count(StateTx tx, int more) {
        tx.put(COUNT, MetaKeys.longValue(count(tx.get(COUNT)) + more));
    }

    private static long count(byte @Nullable [] row) {
        return row == null ? 0 : MetaKeys.longAt(row, 0);
    }

    static OrphanRecord parse(byte[] row) {
        return MessageRows.parse(OrphanRecord.parser(), row, "a record of orphaned data");
    }
}
