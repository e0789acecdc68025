package io.cairn.mds.namespace;

import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import org.jspecify.annotations.Nullable;

/**
 * Inode ids that this state has never given out, and of which data was found all the same: it is
 * older than the data, as one from a backup is. They are never given out, so that no new file meets
 * old data, and what they have is never taken for that of deleted files. One range, which only
 * grows: ids within that were given out since are treated the same way.
 */
public record SkippedIds(long first, long last) {
    static final byte[] KEY = MetaKeys.prefix(MetaKeys.SKIPPED_IDS);

    private static final SkippedIds NONE = new SkippedIds(1, 0);

    /**
     * Ids from here on are not skipped: one wrong number on a disk must not use up those of the
     * shard.
     */
    static final long MAX = 1L << (MutationBatch.SHARD_SHIFT - 1);

    public static boolean mayBeSkipped(long id) {
        return id > 0 && id < MAX;
    }

    static SkippedIds of(byte @Nullable [] row) {
        return row == null
                ? NONE
                : new SkippedIds(MetaKeys.longAt(row, 0), MetaKeys.longAt(row, Long.BYTES));
    }

    boolean contains(long id) {
        return first <= id && id <= last;
    }

    /** The ids up to this one, which was found and never given out, are skipped. */
    static void skip(StateTx tx, long id) {
        if (id <= tx.tally.maxInode || !mayBeSkipped(id)) {
            return;
        }
        SkippedIds before = of(tx.get(KEY));
        long first = before.last == 0 ? tx.tally.maxInode + 1 : before.first;
        byte[] row = new byte[2 * Long.BYTES];
        System.arraycopy(MetaKeys.longValue(first), 0, row, 0, Long.BYTES);
        System.arraycopy(MetaKeys.longValue(id), 0, row, Long.BYTES, Long.BYTES);
        tx.put(KEY, row);
        tx.tally.maxInode = id;
    }
}
