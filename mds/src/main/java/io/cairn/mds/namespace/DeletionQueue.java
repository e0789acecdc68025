package io.cairn.mds.namespace;

import io.cairn.common.layout.FileLayouts;
import io.cairn.common.proto.FileLayout;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateListener;
import io.cairn.mds.store.StateTx;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The queue of inodes whose chunks must be deleted, oldest first. The queue knows its head, so that
 * a read never passes over the tombstones of reaped inodes. The applying thread only, except for
 * {@link #parse}.
 */
final class DeletionQueue {
    private DeletionQueue() {}

    static void add(StateTx tx, Inode inode) {
        long place = queue(tx, record(tx, inode, inode.layout));
        tx.put(MetaKeys.of(MetaKeys.DELETION_OF, inode.id), MetaKeys.longValue(place));
    }

    /**
     * Whatever the pool has of the inode, in any of its placement groups: nobody knows how it was
     * cut into chunks. There may be a file of that inode in another pool, which is queued by itself
     * when it is deleted.
     *
     * @return its place in the queue
     */
    static long addOrphan(StateTx tx, int pool, long inode, long bytes) {
        FileLayout layout = FileLayouts.standard(pool);
        PoolUsers.more(tx, layout);
        return queue(
                tx,
                DeletionRecord.newBuilder()
                        .setInode(inode)
                        .setLayout(layout)
                        .setSize(bytes)
                        .setSizeCeiling(Long.MAX_VALUE)
                        .setOrphan(true));
    }

    /**
     * Whatever the pool has of these ids, with which nothing was made, in any of its placement
     * groups. In one record, however many they are: mostly there is nothing.
     */
    static void addUnused(StateTx tx, int pool, long first, long last) {
        FileLayout layout = FileLayouts.standard(pool);
        PoolUsers.more(tx, layout);
        queue(
                tx,
                DeletionRecord.newBuilder()
                        .setInode(first)
                        .setLastInode(last)
                        .setLayout(layout)
                        .setSizeCeiling(Long.MAX_VALUE));
        IdRanges.putUnused(tx, pool, first, last);
    }

    /** All that the pools had of the ids at these places in the queue is gone. */
    static void reapedUnused(StateTx tx, List<Long> sequences) {
        for (long sequence : sequences) {
            DeletionRecord record = record(tx, sequence);
            if (record != null && record.getLastInode() != 0) { // else it was reported before
                remove(tx, record);
                IdRanges.removeUnused(tx, record.getLayout().getPool(), record.getLastInode());
            }
        }
        advanceHead(tx);
    }

    /**
     * What the inode has, or may have, in a pool that its layout does not name. Its user of the
     * pool is the record's from now on.
     *
     * @param cutSequence the sequence that stays there while the inode lives; 0: it does not
     */
    static void addLeft(StateTx tx, Inode inode, int pool, long cutSequence) {
        byte[] key = MetaKeys.ofLeft(inode.id, pool);
        byte[] earlier = tx.get(key);
        if (earlier != null) { // it goes with this one
            forget(tx, MetaKeys.of(MetaKeys.DELETION, MetaKeys.longAt(earlier, 0)));
        }
        long place =
                queue(
                        tx,
                        record(tx, inode, inode.layoutIn(pool))
                                .setLeft(true)
                                .setCutSequence(cutSequence));
        tx.put(key, MetaKeys.longValue(place));
        if (earlier != null) {
            advanceHead(tx);
        }
    }

    /** Whether what the inode left in the pool is still to go. */
    static boolean isLeft(StateTx tx, long inode, int pool) {
        return tx.get(MetaKeys.ofLeft(inode, pool)) != null;
    }

    private static DeletionRecord.Builder record(StateTx tx, Inode inode, FileLayout layout) {
        return DeletionRecord.newBuilder()
                .setInode(inode.id)
                .setLayout(layout)
                .setSize(inode.size)
                .setSizeCeiling(inode.ceiling);
    }

    private static long queue(StateTx tx, DeletionRecord.Builder deletion) {
        DeletionRecord record =
                deletion.setSequence(tx.tally.nextDeletion++).setMapEpoch(tx.map.epoch()).build();
        tx.put(MetaKeys.of(MetaKeys.DELETION, record.getSequence()), record.toByteArray());
        tx.tally.deletionInodes++;
        tx.tally.deletionBytes += record.getSize();
        tx.announce(StateListener::deletionsQueued);
        return record.getSequence();
    }

    /** All that is to go of these places in the queue is gone. */
    static void reapedLeft(StateTx tx, List<Long> sequences) {
        for (long sequence : sequences) {
            byte[] key = MetaKeys.of(MetaKeys.DELETION, sequence);
            byte[] row = tx.get(key);
            if (row != null) { // else it was reported before, or another one took its place
                DeletionRecord record = parse(row);
                forget(tx, key);
                tx.delete(MetaKeys.ofLeft(record.getInode(), record.getLayout().getPool()));
            }
        }
        advanceHead(tx);
    }

    private static void forget(StateTx tx, byte[] key) {
        byte[] row = tx.get(key);
        if (row == null) {
            throw new CorruptStateException("a place in the deletion queue that is empty");
        }
        DeletionRecord record = parse(row);
        tx.tally.deletionInodes--;
        tx.tally.deletionBytes -= record.getSize();
        PoolUsers.fewer(tx, record.getLayout());
        tx.delete(key);
    }

    /** All chunks of these are gone everywhere; one that is not queued was reported before. */
    static void reaped(StateTx tx, ReapedEntry entry) {
        for (long inode : entry.getInodesList()) {
            byte[] place = tx.get(MetaKeys.of(MetaKeys.DELETION_OF, inode));
            if (place != null) {
                DeletionRecord record = record(tx, MetaKeys.longAt(place, 0));
                if (record == null) {
                    throw new CorruptStateException("inode " + inode + " is queued nowhere");
                }
                remove(tx, record);
                tx.delete(MetaKeys.of(MetaKeys.DELETION_OF, inode));
            }
        }
        for (long place : entry.getOrphansList()) {
            DeletionRecord record = record(tx, place);
            if (record != null && record.getOrphan()) {
                remove(tx, record);
                OrphanedData.reaped(tx, record.getLayout().getPool(), record.getInode());
            }
        }
        advanceHead(tx);
    }

    private static @Nullable DeletionRecord record(StateTx tx, long place) {
        byte[] row = tx.get(MetaKeys.of(MetaKeys.DELETION, place));
        return row == null ? null : parse(row);
    }

    private static void remove(StateTx tx, DeletionRecord record) {
        tx.tally.deletionInodes--;
        tx.tally.deletionBytes -= record.getSize();
        PoolUsers.fewer(tx, record.getLayout());
        tx.delete(MetaKeys.of(MetaKeys.DELETION, record.getSequence()));
    }

    /** What is reaped is mostly the head and what follows it: the database is asked behind that. */
    private static void advanceHead(StateTx tx) {
        long head = tx.tally.deletionHead;
        while (tx.deletes(MetaKeys.of(MetaKeys.DELETION, head))) {
            head++;
        }
        byte[] first =
                tx.firstKey(
                        MetaKeys.prefix(MetaKeys.DELETION), MetaKeys.of(MetaKeys.DELETION, head));
        tx.tally.deletionHead = first == null ? tx.tally.nextDeletion : MetaKeys.longAt(first, 1);
    }

    static DeletionRecord parse(byte[] value) {
        return MessageRows.parse(DeletionRecord.parser(), value, "a deletion record");
    }
}
