package io.cairn.fuse.jnr;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.time.WallClock;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.op.XattrNames;
import java.util.function.Consumer;
import java.util.function.Supplier;
import jnr.ffi.Pointer;

/** Attributes by path, extended ones too, and those of the file system. Any thread. */
final class AttributeCalls {
    private static final long UTIME_NOW = (1L << 30) - 1;
    private static final long UTIME_OMIT = (1L << 30) - 2;
    private static final int TIMESPEC_BYTES = 16;
    private static final int UNCHANGED = -1;

    private final CairnClient client;
    private final Calls calls;
    private final Paths paths;

    AttributeCalls(CairnClient client, Calls calls, Paths paths) {
        this.client = client;
        this.calls = calls;
        this.paths = paths;
    }

    void enter(Table table) {
        table.put(table.chmod, Callbacks.OfNameAndInt.class, this::chmod);
        table.put(table.chown, Callbacks.OfNameAndTwoInts.class, this::chown);
        table.put(table.truncate, Callbacks.OfNameAndLong.class, this::truncate);
        table.put(table.utimens, Callbacks.OfNameAndPointer.class, this::utimens);
        table.put(table.statfs, Callbacks.OfNameAndPointer.class, this::statfs);
        table.put(table.getxattr, Callbacks.GetXattr.class, this::getxattr);
        table.put(table.setxattr, Callbacks.SetXattr.class, this::setxattr);
        table.put(table.listxattr, Callbacks.OfNameAndBuffer.class, this::listxattr);
        table.put(table.removexattr, Callbacks.OfNameAndPointer.class, this::removexattr);
    }

    private int chmod(Pointer name, int mode) {
        return change(name, op -> op.setMode(Mode.permissions(mode)));
    }

    /** It clears set-user-id and set-group-id, as chown(2) does. */
    private int chown(Pointer name, int uid, int gid) {
        return change(
                name,
                op -> {
                    op.setKillSuidSgid(true);
                    if (uid != UNCHANGED) {
                        op.setUid(uid);
                    }
                    if (gid != UNCHANGED) {
                        op.setGid(gid);
                    }
                });
    }

    private int truncate(Pointer name, long size) {
        return change(name, op -> op.setSize(size));
    }

    private int utimens(Pointer name, Pointer times) {
        Timespec now = WallClock.now();
        return change(
                name,
                op -> {
                    long accessed = times.getLong(8);
                    if (accessed != UTIME_OMIT) {
                        op.setAtime(accessed == UTIME_NOW ? now : timespec(times, 0));
                    }
                    long modified = times.getLong(TIMESPEC_BYTES + 8);
                    if (modified == UTIME_NOW) {
                        op.setMtime(now).setMtimeNow(true);
                    } else if (modified != UTIME_OMIT) {
                        op.setMtime(timespec(times, TIMESPEC_BYTES));
                    }
                });
    }

    private static Timespec timespec(Pointer times, int at) {
        return Timespec.newBuilder()
                .setSeconds(times.getLong(at))
                .setNanos((int) times.getLong(at + 8L))
                .build();
    }

    private int change(Pointer name, Consumer<SetAttrOp.Builder> change) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.SETATTR,
                path,
                () -> {
                    SetAttrOp.Builder op = SetAttrOp.newBuilder().setInode(paths.inode(path));
                    change.accept(op);
                    var _ = calls.await(client.setAttr(op.build(), calls.credentials()));
                    return 0;
                });
    }

    private int statfs(Pointer name, Pointer out) {
        return calls.run(
                FuseOpcode.STATFS,
                "/",
                () -> {
                    CStructs.putStatvfs(out, calls.await(client.statFs()));
                    return 0;
                });
    }

    private int getxattr(Pointer name, Pointer attribute, Pointer value, long size) {
        String path = CStructs.string(name);
        byte[] wanted = CStructs.bytes(attribute);
        return calls.run(
                FuseOpcode.GETXATTR,
                path,
                () -> {
                    requireKnown(wanted);
                    return put(
                            () -> calls.await(client.getXattr(paths.inode(path), wanted)),
                            value,
                            size);
                });
    }

    private int listxattr(Pointer name, Pointer list, long size) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.LISTXATTR,
                path,
                () ->
                        put(
                                () ->
                                        XattrNames.join(
                                                calls.await(client.listXattr(paths.inode(path)))),
                                list,
                                size));
    }

    /** A size of 0 asks how long it is. */
    private static int put(Supplier<byte[]> answer, Pointer out, long size) {
        byte[] bytes = answer.get();
        if (size > 0) {
            if (bytes.length > size) {
                throw new FsException(Errno.ERANGE, bytes.length + " bytes for " + size);
            }
            CStructs.copy(bytes, out);
        }
        return bytes.length;
    }

    private int setxattr(Pointer name, Pointer attribute, Pointer value, long size, int flags) {
        String path = CStructs.string(name);
        byte[] wanted = CStructs.bytes(attribute);
        return calls.run(
                FuseOpcode.SETXATTR,
                path,
                () -> {
                    requireKnown(wanted);
                    byte[] bytes = size == 0 ? new byte[0] : CStructs.bytes(value, size);
                    calls.await(client.setXattr(paths.inode(path), wanted, bytes, flags));
                    return 0;
                });
    }

    private int removexattr(Pointer name, Pointer attribute) {
        String path = CStructs.string(name);
        byte[] wanted = CStructs.bytes(attribute);
        return calls.run(
                FuseOpcode.REMOVEXATTR,
                path,
                () -> {
                    requireKnown(wanted);
                    calls.await(client.removeXattr(paths.inode(path), wanted));
                    return 0;
                });
    }

    private static void requireKnown(byte[] name) {
        if (XattrNames.refused(name)) {
            throw new FsException(Errno.EOPNOTSUPP, "an attribute of the system");
        }
    }
}
