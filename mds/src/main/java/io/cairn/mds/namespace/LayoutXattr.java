package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.Pool;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;

/**
 * {@code cairn.layout}, the virtual extended attribute that shows and sets where a file's data
 * goes: {@code pool=default stripe_unit=4194304 stripe_count=1 chunk_size=4194304}. A new file or
 * directory gets the layout of its directory. A new value may name some of the fields only. The
 * layout of a file can be set while the file has no data and nobody holds it open.
 */
final class LayoutXattr {
    private static final ByteString NAME = ByteString.copyFromUtf8("cairn.layout");
    private static final ByteString RESERVED = ByteString.copyFromUtf8("cairn.");

    private LayoutXattr() {}

    static boolean isLayout(ByteString name) {
        return name.equals(NAME);
    }

    /** EPERM for names that are ours and nothing one can set. */
    static void refuseReserved(ByteString name) {
        if (name.startsWith(RESERVED)) {
            throw new FsException(Errno.EPERM, "attribute '" + name.toStringUtf8() + "'");
        }
    }

    /** ENODATA for what has no layout. */
    static ByteString get(ClusterMap map, Inode inode) {
        if (!inode.isRegular() && !inode.isDirectory()) {
            throw new FsException(Errno.ENODATA, "layout of a special file");
        }
        FileLayout layout = inode.layout;
        Pool pool = map.pool(layout.getPool());
        return ByteString.copyFromUtf8(
                "pool="
                        + (pool == null ? Integer.toString(layout.getPool()) : pool.getName())
                        + " stripe_unit="
                        + layout.getStripeUnit()
                        + " stripe_count="
                        + layout.getStripeCount()
                        + " chunk_size="
                        + layout.getChunkSize());
    }

    static MutationResult set(StateTx tx, Caller caller, Inode inode, ByteString value) {
        if (!inode.isRegular() && !inode.isDirectory()) {
            throw new FsException(Errno.EPERM, "layout of a special file");
        }
        FileLayout layout = parse(tx.map, inode.layout, value);
        check(tx.map, layout);
        if (inode.isRegular()) {
            checkEmpty(inode);
            OrphanedData.requireNotDeleted(tx, layout.getPool(), inode.id);
        }
        Inode changed = tx.edit(inode.id);
        PoolUsers.fewer(tx, changed.layout);
        PoolUsers.more(tx, layout);
        changed.layout = layout;
        if (changed.isRegular()) {
            changed.ceiling = FileLayouts.firstCeiling(layout);
        }
        changed.touch(caller.time());
        return MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, changed)).build();
    }

    private static void checkEmpty(Inode file) {
        if (file.size != 0
                || file.truncateSequence != 0
                || file.leftovers
                || file.ceiling > FileLayouts.firstCeiling(file.layout)) {
            throw new FsException(Errno.ENOTEMPTY, "inode " + file.id + " has or had data");
        }
        if (file.openers != 0 || file.movingPool != 0) {
            throw new FsException(Errno.EBUSY, "inode " + file.id + " is open");
        }
    }

    private static FileLayout parse(ClusterMap map, FileLayout present, ByteString value) {
        FileLayout.Builder layout = present.toBuilder();
        for (String field : value.toStringUtf8().strip().split("\\s+", -1)) {
            int equals = field.indexOf('=');
            String text = field.substring(equals + 1);
            switch (equals < 0 ? "" : field.substring(0, equals)) {
                case "pool" -> layout.setPool(poolId(map, text));
                case "stripe_unit" -> layout.setStripeUnit(number(text));
                case "stripe_count" -> layout.setStripeCount(number(text));
                case "chunk_size" -> layout.setChunkSize(number(text));
                default -> throw new FsException(Errno.EINVAL, "layout field '" + field + "'");
            }
        }
        return layout.build();
    }

    private static int poolId(ClusterMap map, String text) {
        Pool pool = map.pool(text);
        return pool != null ? pool.getId() : number(text);
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new FsException(Errno.EINVAL, "'" + text + "' in a layout");
        }
    }

    /** EINVAL where no file could be stored that way. */
    static void check(ClusterMap map, FileLayout layout) {
        String problem = FileLayouts.problem(layout);
        if (problem != null) {
            throw new FsException(Errno.EINVAL, problem);
        }
        if (map.pool(layout.getPool()) == null) {
            throw new FsException(Errno.EINVAL, "no pool " + layout.getPool());
        }
    }
}
