package io.cairn.mds.namespace;

import io.cairn.common.proto.FileLayout;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import org.jspecify.annotations.Nullable;

/**
 * How many files, directories and deleted files whose data is still there name each pool in their
 * layouts: a pool that nothing names can be removed. The first pool is not counted, since what
 * older releases made names it, and it stays. The applying thread only.
 */
public final class PoolUsers {
    /** Made with the cluster. */
    public static final int FIRST_POOL = 1;

    private PoolUsers() {}

    static void more(StateTx tx, FileLayout layout) {
        change(tx, layout.getPool(), 1);
    }

    static void fewer(StateTx tx, FileLayout layout) {
        change(tx, layout.getPool(), -1);
    }

    static long of(StateTx tx, int pool) {
        return count(tx.get(key(pool)));
    }

    static byte[] key(int pool) {
        return MetaKeys.ofMap(MetaKeys.POOL_USERS, pool);
    }

    static long count(byte @Nullable [] row) {
        return row == null ? 0 : MetaKeys.longAt(row, 0);
    }

    /** Layouts of what is neither a file nor a directory name no pool. */
    private static void change(StateTx tx, int pool, int by) {
        if (pool > FIRST_POOL) {
            long count = of(tx, pool) + by;
            if (count == 0) {
                tx.delete(key(pool));
            } else {
                tx.put(key(pool), MetaKeys.longValue(count));
            }
        }
    }
}
