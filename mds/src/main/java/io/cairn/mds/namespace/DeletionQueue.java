package io.cairn.mds.namespace;

import io.cairn.common.proto.FileLayout;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateListener;
import io.cairn.mds.store.StateTx;
import java.util.List;

/**
 * The queue of inodes whose chunks must be deleted, oldest first. The queue knows its head, so that
 * a read never passes over the tombstones of reaped inodes. The applying thread only, except for
 * {@link #parse}.
 */
final class DeletionQueue {
    private DeletionQueue() {}

    static void add(StateTx tx, Inode inode) {
        DeletionRecord record = record(tx, inode, inode.layout).build();
        tx.put(
                MetaKeys.of(MetaKeys.DELETION_OF, inode.id),
                MetaKeys.longValue(record.getSequence()));
        queue(tx, record);
    }

    /**
     * What the inode has, or may have, in a pool that its layout does not name. Its user of the
     * pool is the record's from now on.
     *
     * @param cutSequence the sequence that stays there while the inode lives; 0: it does not
     */
    static void addLeft(StateTx tx, Inode inode, int pool, long cutSequence) {
        DeletionRecord record =
                record(tx, inode, inode.layoutIn(pool))
                        .setLeft(true)
                        .setCutSequence(cutSequence)
                        .build();
        byte[] key = MetaKeys.ofLeft(inode.id, pool);
        byte[] earlier = tx.get(key);
        if (earlier != null) { // it goes with this one
            forget(tx, MetaKeys.of(MetaKeys.DELETION, MetaKeys.longAt(earlier, 0)));
        }
        tx.put(key, MetaKeys.longValue(record.getSequence()));
        queue(tx, record);
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
                .setSequence(tx.tally.nextDeletion++)
                .setInode(inode.id)
                .setLayout(layout)
                .setSize(inode.size)
                .setSizeCeiling(inode.ceiling)
                .setMapEpoch(tx.map.epoch());
    }

    private static void queue(StateTx tx, DeletionRecord record) {
        tx.put(MetaKeys.of(MetaKeys.DELETION, record.getSequence()), record.toByteArray());
        tx.tally.deletionInodes++;
        tx.tally.deletionBytes += record.getSize();
        tx.announce(StateListener::deletionsQueued);
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
    static void reaped(StateTx tx, List<Long> inodes) {
        for (long inode : inodes) {
            byte[] place = tx.get(MetaKeys.of(MetaKeys.DELETION_OF, inode));
            if (place != null) {
                byte[] key = MetaKeys.of(MetaKeys.DELETION, MetaKeys.longAt(place, 0));
                byte[] record = tx.get(key);
                if (record == null) {
                    throw new CorruptStateException("inode " + inode + " is queued nowhere");
                }
                tx.tally.deletionInodes--;
                tx.tally.deletionBytes -= parse(record).getSize();
                PoolUsers.fewer(tx, parse(record).getLayout());
                tx.delete(key);
                tx.delete(MetaKeys.of(MetaKeys.DELETION_OF, inode));
            }
        }
        advanceHead(tx);
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
