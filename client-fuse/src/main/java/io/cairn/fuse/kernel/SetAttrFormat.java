package io.cairn.fuse.kernel;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.lang.foreign.MemorySegment;

/**
 * <pre>
 * fuse_setattr_in, 88 bytes
 *  0 valid      u32 which fields count    48 ctime     u64
 *  4 padding    u32                       56 atimensec u32
 *  8 fh         u64                       60 mtimensec u32
 * 16 size       u64                       64 ctimensec u32
 * 24 lock_owner u64                       68 mode      u32
 * 32 atime      u64                       72 unused    u32
 * 40 mtime      u64                       76 uid       u32
 *                                         80 gid       u32
 *                                         84 unused    u32
 * </pre>
 */
public final class SetAttrFormat {
    public static final int SIZE = 88;

    private static final int MODE = 1;
    private static final int UID = 1 << 1;
    private static final int GID = 1 << 2;
    private static final int FILE_SIZE = 1 << 3;
    private static final int ATIME = 1 << 4;
    private static final int MTIME = 1 << 5;
    private static final int ATIME_NOW = 1 << 7;
    private static final int MTIME_NOW = 1 << 8;
    private static final int KILL_SUIDGID = 1 << 11;

    private SetAttrFormat() {}

    /**
     * The change asked for. A change of owner or group always asks to clear set-user-id and
     * set-group-id, as chown(2) does: under HANDLE_KILLPRIV_V2 the kernel leaves that to us and
     * sets its own flag for truncations only.
     *
     * @param now for UTIME_NOW
     */
    public static SetAttrOp decode(MemorySegment in, long inode, Timespec now) {
        int valid = Native.u32(in, 0);
        SetAttrOp.Builder op = SetAttrOp.newBuilder().setInode(inode);
        if ((valid & MODE) != 0) {
            op.setMode(Mode.permissions(Native.u32(in, 68)));
        }
        if ((valid & UID) != 0) {
            op.setUid(Native.u32(in, 76));
        }
        if ((valid & GID) != 0) {
            op.setGid(Native.u32(in, 80));
        }
        if ((valid & FILE_SIZE) != 0) {
            op.setSize(Native.u64(in, 16));
        }
        if ((valid & ATIME_NOW) != 0) {
            op.setAtime(now);
        } else if ((valid & ATIME) != 0) {
            op.setAtime(AttrFormat.timespec(Native.u64(in, 32), Native.u32(in, 56)));
        }
        if ((valid & MTIME_NOW) != 0) {
            op.setMtime(now).setMtimeNow(true);
        } else if ((valid & MTIME) != 0) {
            op.setMtime(AttrFormat.timespec(Native.u64(in, 40), Native.u32(in, 60)));
        }
        op.setKillSuidSgid((valid & (UID | GID | KILL_SUIDGID)) != 0);
        return op.build();
    }
}
