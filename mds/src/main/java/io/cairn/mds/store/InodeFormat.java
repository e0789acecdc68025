package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Truncation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * An inode as a value in RocksDB, little-endian; its id is in the key.
 *
 * <pre>
 *   0  version:1 (1)   flags:1   truncations:2   mode:4
 *   8  nlink:4         uid:4
 *  16  gid:4           rdev:4
 *  24  size:8
 *  32  atime seconds:8
 *  40  mtime seconds:8
 *  48  ctime seconds:8
 *  56  btime seconds:8
 *  64  atime nanos:4   mtime nanos:4
 *  72  ctime nanos:4   btime nanos:4
 *  80  change:8
 *  88  openers:4       xattr bytes:4
 *  96  xattr list:4    pool:4
 * 104  stripe unit:4   stripe count:4
 * 112  chunk size:4    zero:4
 * 120  regular file:   size ceiling:8   truncate sequence:8   truncations × (sequence:8 size:8)
 *                      with flag 2: appender:8
 *                      with flag 4: cut sequence:8   mover:8   moving pool:4   former pools:4
 *                                   former pools × pool:4
 *      directory:      parent:8         next sequence:8
 *      symbolic link:  target, to the end
 *      all others:     nothing
 * </pre>
 *
 * <p>Flags, of regular files only: 1, bytes of ended sessions may lie beyond the size; 2, a session
 * has the append right; 4, it was moved to another pool, or is being moved; 8, besides, its newest
 * truncation is a fence; 16, somebody has locked it at some time, so that it may have locks.
 */
public final class InodeFormat {
    static final byte VERSION = 1;
    static final int COMMON_BYTES = 120;

    private static final int LEFTOVERS = 1;
    private static final int APPENDER = 2;
    private static final int MOVED = 4;
    private static final int FENCED = 8;
    private static final int WAS_LOCKED = 16;

    private static final int VERSION_OFFSET = 0;
    private static final int FLAGS_OFFSET = 1;
    private static final int TRUNCATIONS_OFFSET = 2;
    private static final int MODE_OFFSET = 4;
    private static final int NLINK_OFFSET = 8;
    private static final int UID_OFFSET = 12;
    private static final int GID_OFFSET = 16;
    private static final int RDEV_OFFSET = 20;
    private static final int SIZE_OFFSET = 24;
    private static final int SECONDS_OFFSET = 32;
    private static final int NANOS_OFFSET = 64;
    private static final int CHANGE_OFFSET = 80;
    private static final int OPENERS_OFFSET = 88;
    private static final int XATTR_BYTES_OFFSET = 92;
    private static final int XATTR_LIST_OFFSET = 96;
    private static final int POOL_OFFSET = 100;
    private static final int STRIPE_UNIT_OFFSET = 104;
    private static final int STRIPE_COUNT_OFFSET = 108;
    private static final int CHUNK_SIZE_OFFSET = 112;
    private static final int ZERO_OFFSET = 116;

    private static final int CEILING_OFFSET = 120;
    private static final int TRUNCATE_SEQUENCE_OFFSET = 128;
    private static final int TRUNCATION_LIST_OFFSET = 136;
    private static final int TRUNCATION_SIZE_OFFSET = 8;
    private static final int TRUNCATION_BYTES = 16;
    private static final int APPENDER_BYTES = 8;

    // Of the part of what was moved, from its beginning.
    private static final int MOVER_OFFSET = 8;
    private static final int MOVING_POOL_OFFSET = 16;
    private static final int FORMER_POOLS_OFFSET = 20;
    private static final int FORMER_LIST_OFFSET = 24;
    private static final int FORMER_BYTES = 4;

    private static final int PARENT_OFFSET = 120;
    private static final int NEXT_SEQUENCE_OFFSET = 128;
    private static final int DIRECTORY_BYTES = 136;

    private InodeFormat() {}

    static byte[] encode(Inode inode) {
        ByteBuffer out = ByteBuffer.allocate(length(inode)).order(ByteOrder.LITTLE_ENDIAN);
        out.put(VERSION_OFFSET, VERSION);
        out.put(FLAGS_OFFSET, (byte) flags(inode));
        out.putShort(TRUNCATIONS_OFFSET, (short) inode.truncations.size());
        out.putInt(MODE_OFFSET, inode.mode);
        out.putInt(NLINK_OFFSET, inode.nlink);
        out.putInt(UID_OFFSET, inode.uid);
        out.putInt(GID_OFFSET, inode.gid);
        out.putInt(RDEV_OFFSET, inode.rdev);
        out.putLong(SIZE_OFFSET, inode.size);
        putTime(out, 0, inode.atime);
        putTime(out, 1, inode.mtime);
        putTime(out, 2, inode.ctime);
        putTime(out, 3, inode.btime);
        out.putLong(CHANGE_OFFSET, inode.change);
        out.putInt(OPENERS_OFFSET, inode.openers);
        out.putInt(XATTR_BYTES_OFFSET, inode.xattrBytes);
        out.putInt(XATTR_LIST_OFFSET, inode.xattrListBytes);
        out.putInt(POOL_OFFSET, inode.layout.getPool());
        out.putInt(STRIPE_UNIT_OFFSET, inode.layout.getStripeUnit());
        out.putInt(STRIPE_COUNT_OFFSET, inode.layout.getStripeCount());
        out.putInt(CHUNK_SIZE_OFFSET, inode.layout.getChunkSize());
        putTail(out, inode);
        return out.array();
    }

    private static int flags(Inode inode) {
        return (inode.leftovers ? LEFTOVERS : 0)
                | (inode.appender != 0 ? APPENDER : 0)
                | (isMoved(inode) ? MOVED : 0)
                | (inode.fenced ? FENCED : 0)
                | (inode.wasLocked ? WAS_LOCKED : 0);
    }

    private static boolean isMoved(Inode inode) {
        return inode.movingPool != 0
                || !inode.formerPools.isEmpty()
                || inode.cutSequence != inode.truncateSequence;
    }

    private static int regularLength(int truncations, int flags, int formerPools) {
        return movedOffset(truncations, flags)
                + ((flags & MOVED) != 0 ? FORMER_LIST_OFFSET + FORMER_BYTES * formerPools : 0);
    }

    private static int movedOffset(int truncations, int flags) {
        return TRUNCATION_LIST_OFFSET
                + TRUNCATION_BYTES * truncations
                + ((flags & APPENDER) != 0 ? APPENDER_BYTES : 0);
    }

    private static int length(Inode inode) {
        return switch (Mode.type(inode.mode)) {
            case Mode.REGULAR ->
                    regularLength(inode.truncations.size(), flags(inode), inode.formerPools.size());
            case Mode.DIRECTORY -> DIRECTORY_BYTES;
            case Mode.SYMLINK -> COMMON_BYTES + inode.target.size();
            default -> COMMON_BYTES;
        };
    }

    private static void putTail(ByteBuffer out, Inode inode) {
        switch (Mode.type(inode.mode)) {
            case Mode.REGULAR -> {
                out.putLong(CEILING_OFFSET, inode.ceiling);
                out.putLong(TRUNCATE_SEQUENCE_OFFSET, inode.truncateSequence);
                int at = TRUNCATION_LIST_OFFSET;
                for (Truncation t : inode.truncations) {
                    out.putLong(at, t.getSequence());
                    out.putLong(at + TRUNCATION_SIZE_OFFSET, t.getSize());
                    at += TRUNCATION_BYTES;
                }
                if (inode.appender != 0) {
                    out.putLong(at, inode.appender);
                    at += APPENDER_BYTES;
                }
                if (isMoved(inode)) {
                    putMoved(out, at, inode);
                }
            }
            case Mode.DIRECTORY -> {
                out.putLong(PARENT_OFFSET, inode.parent);
                out.putLong(NEXT_SEQUENCE_OFFSET, inode.nextSequence);
            }
            case Mode.SYMLINK ->
                    out.put(
                            COMMON_BYTES,
                            inode.target.asReadOnlyByteBuffer(),
                            0,
                            inode.target.size());
            default -> {}
        }
    }

    private static void putMoved(ByteBuffer out, int at, Inode inode) {
        out.putLong(at, inode.cutSequence);
        out.putLong(at + MOVER_OFFSET, inode.mover);
        out.putInt(at + MOVING_POOL_OFFSET, inode.movingPool);
        out.putInt(at + FORMER_POOLS_OFFSET, inode.formerPools.size());
        for (int i = 0; i < inode.formerPools.size(); i++) {
            out.putInt(at + FORMER_LIST_OFFSET + FORMER_BYTES * i, inode.formerPools.get(i));
        }
    }

    /** Throws {@link CorruptStateException} for anything {@link #encode} does not write. */
    public static Inode decode(long id, byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length < COMMON_BYTES
                || in.get(VERSION_OFFSET) != VERSION
                || (in.get(FLAGS_OFFSET) & ~allowedFlags(in)) != 0
                || in.getInt(ZERO_OFFSET) != 0) {
            throw corrupt(id, value);
        }
        Inode inode = new Inode(id);
        inode.mode = in.getInt(MODE_OFFSET);
        inode.nlink = in.getInt(NLINK_OFFSET);
        inode.uid = in.getInt(UID_OFFSET);
        inode.gid = in.getInt(GID_OFFSET);
        inode.rdev = in.getInt(RDEV_OFFSET);
        inode.size = in.getLong(SIZE_OFFSET);
        inode.atime = time(in, 0);
        inode.mtime = time(in, 1);
        inode.ctime = time(in, 2);
        inode.btime = time(in, 3);
        inode.change = in.getLong(CHANGE_OFFSET);
        inode.openers = in.getInt(OPENERS_OFFSET);
        inode.xattrBytes = in.getInt(XATTR_BYTES_OFFSET);
        inode.xattrListBytes = in.getInt(XATTR_LIST_OFFSET);
        inode.layout = layout(in);
        inode.leftovers = (in.get(FLAGS_OFFSET) & LEFTOVERS) != 0;
        inode.wasLocked = (in.get(FLAGS_OFFSET) & WAS_LOCKED) != 0;
        readTail(in, inode, value);
        return inode;
    }

    private static int allowedFlags(ByteBuffer in) {
        return Mode.isRegular(in.getInt(MODE_OFFSET))
                ? LEFTOVERS | APPENDER | MOVED | FENCED | WAS_LOCKED
                : 0;
    }

    private static void readTail(ByteBuffer in, Inode inode, byte[] value) {
        int type = Mode.type(inode.mode);
        int truncations = in.getShort(TRUNCATIONS_OFFSET) & 0xffff;
        int flags = in.get(FLAGS_OFFSET);
        int expected =
                switch (type) {
                    case Mode.REGULAR ->
                            regularLength(truncations, flags, formerPools(in, truncations, flags));
                    case Mode.DIRECTORY -> DIRECTORY_BYTES;
                    case Mode.SYMLINK -> (int) (COMMON_BYTES + inode.size);
                    default -> COMMON_BYTES;
                };
        if (value.length != expected) {
            throw corrupt(inode.id, value);
        }
        switch (type) {
            case Mode.REGULAR -> {
                inode.ceiling = in.getLong(CEILING_OFFSET);
                inode.truncateSequence = in.getLong(TRUNCATE_SEQUENCE_OFFSET);
                inode.truncations = truncations(in, truncations);
                int moved = movedOffset(truncations, flags);
                if ((flags & APPENDER) != 0) {
                    inode.appender = in.getLong(moved - APPENDER_BYTES);
                }
                inode.cutSequence = inode.truncateSequence;
                if ((flags & MOVED) != 0) {
                    readMoved(in, moved, inode);
                }
                inode.fenced = (flags & FENCED) != 0;
            }
            case Mode.DIRECTORY -> {
                inode.parent = in.getLong(PARENT_OFFSET);
                inode.nextSequence = in.getLong(NEXT_SEQUENCE_OFFSET);
            }
            case Mode.SYMLINK ->
                    inode.target =
                            ByteString.copyFrom(value, COMMON_BYTES, value.length - COMMON_BYTES);
            default -> {}
        }
    }

    /** 0 also where the record ends before it: then its length is wrong. */
    private static int formerPools(ByteBuffer in, int truncations, int flags) {
        int at = movedOffset(truncations, flags) + FORMER_POOLS_OFFSET;
        boolean there = (flags & MOVED) != 0 && at + Integer.BYTES <= in.capacity();
        int count = there ? in.getInt(at) : 0;
        return count < 0 || count > in.capacity() ? 0 : count;
    }

    private static void readMoved(ByteBuffer in, int at, Inode inode) {
        inode.cutSequence = in.getLong(at);
        inode.mover = in.getLong(at + MOVER_OFFSET);
        inode.movingPool = in.getInt(at + MOVING_POOL_OFFSET);
        List<Integer> former = new ArrayList<>();
        for (int i = 0; i < in.getInt(at + FORMER_POOLS_OFFSET); i++) {
            former.add(in.getInt(at + FORMER_LIST_OFFSET + FORMER_BYTES * i));
        }
        inode.formerPools = List.copyOf(former);
    }

    private static List<Truncation> truncations(ByteBuffer in, int count) {
        if (count == 0) {
            return List.of();
        }
        List<Truncation> list = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int at = TRUNCATION_LIST_OFFSET + TRUNCATION_BYTES * i;
            list.add(
                    Truncation.newBuilder()
                            .setSequence(in.getLong(at))
                            .setSize(in.getLong(at + TRUNCATION_SIZE_OFFSET))
                            .build());
        }
        return List.copyOf(list);
    }

    private static FileLayout layout(ByteBuffer in) {
        return FileLayout.newBuilder()
                .setPool(in.getInt(POOL_OFFSET))
                .setStripeUnit(in.getInt(STRIPE_UNIT_OFFSET))
                .setStripeCount(in.getInt(STRIPE_COUNT_OFFSET))
                .setChunkSize(in.getInt(CHUNK_SIZE_OFFSET))
                .build();
    }

    private static void putTime(ByteBuffer out, int which, Time time) {
        out.putLong(SECONDS_OFFSET + 8 * which, time.seconds());
        out.putInt(NANOS_OFFSET + 4 * which, time.nanos());
    }

    private static Time time(ByteBuffer in, int which) {
        return new Time(
                in.getLong(SECONDS_OFFSET + 8 * which), in.getInt(NANOS_OFFSET + 4 * which));
    }

    private static CorruptStateException corrupt(long id, byte[] value) {
        return new CorruptStateException(
                "inode " + id + ": " + value.length + " bytes that are no inode record");
    }
}
