package io.cairn.mds.namespace;

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
        DeletionRecord record =
                DeletionRecord.newBuilder()
                        .setSequence(tx.tally.nextDeletion++)
                        .setInode(inode.id)
                        .setLayout(inode.layout)
                        .setSize(inode.size)
                        .setSizeCeiling(inode.ceiling)
                        .setMapEpoch(tx.map.epoch())
                        .build();
        tx.put(MetaKeys.of(MetaKeys.DELETION, record.getSequence()), record.toByteArray());
        tx.put(
                MetaKeys.of(MetaKeys.DELETION_OF, inode.id),
                MetaKeys.longValue(record.getSequence()));
        tx.tally.deletionInodes++;
        tx.tally.deletionBytes += record.getSize();
        tx.announce(StateListener::deletionsQueued);
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
