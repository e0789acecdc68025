package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RemoveXattrOp;
import io.cairn.common.proto.SetXattrOp;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;

/** setxattr and removexattr, with Linux's limits. The applying thread only. */
final class ExtendedAttributes {
    static final int CREATE = 1;
    static final int REPLACE = 2;
    static final int MAX_NAME_BYTES = 255;

    /** XATTR_SIZE_MAX. */
    static final int MAX_VALUE_BYTES = 65_536;

    /** XATTR_LIST_MAX: what listxattr can return. */
    static final int MAX_LIST_BYTES = 65_536;

    /** Names and values of one inode. */
    static final int MAX_TOTAL_BYTES = 256 << 10;

    private static final ByteString CAPABILITIES = ByteString.copyFromUtf8("security.capability");

    private ExtendedAttributes() {}

    static MutationResult set(StateTx tx, Caller caller, SetXattrOp op) {
        Inode inode = tx.require(op.getInode());
        checkName(op.getName());
        if (op.getFlags() < 0 || op.getFlags() > (CREATE | REPLACE)) {
            throw new FsException(Errno.EINVAL, "xattr flags " + op.getFlags());
        }
        if (LayoutXattr.isLayout(op.getName())) {
            return LayoutXattr.set(tx, caller, inode, op.getValue());
        }
        LayoutXattr.refuseReserved(op.getName());
        if (op.getValue().size() > MAX_VALUE_BYTES) {
            throw new FsException(Errno.E2BIG, "a value of " + op.getValue().size() + " bytes");
        }
        byte[] key = MetaKeys.of(MetaKeys.XATTR, inode.id, op.getName());
        byte[] present = tx.get(key);
        if (present != null && (op.getFlags() & CREATE) != 0) {
            throw new FsException(Errno.EEXIST, op.getName().toStringUtf8());
        }
        if (present == null && (op.getFlags() & REPLACE) != 0) {
            throw new FsException(Errno.ENODATA, op.getName().toStringUtf8());
        }
        int nameBytes = op.getName().size();
        int list = inode.xattrListBytes + (present == null ? nameBytes + 1 : 0);
        int total =
                inode.xattrBytes
                        + op.getValue().size()
                        + (present == null ? nameBytes : -present.length);
        if (list > MAX_LIST_BYTES || total > MAX_TOTAL_BYTES) {
            throw new FsException(Errno.ENOSPC, "extended attributes of inode " + inode.id);
        }
        tx.put(key, op.getValue().toByteArray());
        Inode changed = tx.edit(inode.id);
        changed.xattrListBytes = list;
        changed.xattrBytes = total;
        changed.touch(caller.time());
        return MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, changed)).build();
    }

    static MutationResult remove(StateTx tx, Caller caller, RemoveXattrOp op) {
        Inode inode = tx.require(op.getInode());
        checkName(op.getName());
        LayoutXattr.refuseReserved(op.getName());
        byte[] key = MetaKeys.of(MetaKeys.XATTR, inode.id, op.getName());
        byte[] present = tx.get(key);
        if (present == null) {
            throw new FsException(Errno.ENODATA, op.getName().toStringUtf8());
        }
        Inode changed = tx.edit(inode.id);
        drop(tx, changed, op.getName(), present);
        changed.touch(caller.time());
        return MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, changed)).build();
    }

    /** File capabilities do not survive a change of contents or owner. */
    static void dropCapabilities(StateTx tx, Inode inode) {
        if (inode.xattrListBytes > 0) {
            byte[] present = tx.get(MetaKeys.of(MetaKeys.XATTR, inode.id, CAPABILITIES));
            if (present != null) {
                drop(tx, inode, CAPABILITIES, present);
            }
        }
    }

    private static void drop(StateTx tx, Inode inode, ByteString name, byte[] value) {
        tx.delete(MetaKeys.of(MetaKeys.XATTR, inode.id, name));
        inode.xattrListBytes -= name.size() + 1;
        inode.xattrBytes -= name.size() + value.length;
    }

    /** ERANGE, as Linux. */
    static void checkName(ByteString name) {
        if (name.isEmpty() || name.size() > MAX_NAME_BYTES || hasNul(name)) {
            throw new FsException(Errno.ERANGE, "an attribute name of " + name.size() + " bytes");
        }
    }

    private static boolean hasNul(ByteString name) {
        for (int i = 0; i < name.size(); i++) {
            if (name.byteAt(i) == 0) {
                return true;
            }
        }
        return false;
    }
}
