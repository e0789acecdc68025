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
 *      directory:      parent:8         next sequence:8
 *      symbolic link:  target, to the end
 *      all others:     nothing
 * </pre>
 *
 * <p>Flags, of regular files only: 1, bytes of ended sessions may lie beyond the size; 2, a session
 * has the append right.
 */
public final class InodeFormat {
    static final byte VERSION = 1;
    static final int COMMON_BYTES = 120;

    private static final int LEFTOVERS = 1;
    private static final int APPENDER = 2;

    private static final int VERSION_AT = 0;
    private static final int FLAGS_AT = 1;
    private static final int TRUNCATIONS_AT = 2;
    private static final int MODE_AT = 4;
    private static final int NLINK_AT = 8;
    private static final int UID_AT = 12;
    private static final int GID_AT = 16;
    private static final int RDEV_AT = 20;
    private static final int SIZE_AT = 24;
    private static final int SECONDS_AT = 32;
    private static final int NANOS_AT = 64;
    private static final int CHANGE_AT = 80;
    private static final int OPENERS_AT = 88;
    private static final int XATTR_BYTES_AT = 92;
    private static final int XATTR_LIST_AT = 96;
    private static final int POOL_AT = 100;
    private static final int STRIPE_UNIT_AT = 104;
    private static final int STRIPE_COUNT_AT = 108;
    private static final int CHUNK_SIZE_AT = 112;
    private static final int ZERO_AT = 116;

    private static final int CEILING_AT = 120;
    private static final int TRUNCATE_SEQUENCE_AT = 128;
    private static final int TRUNCATION_LIST_AT = 136;
    private static final int TRUNCATION_BYTES = 16;
    private static final int APPENDER_BYTES = 8;

    private static final int PARENT_AT = 120;
    private static final int NEXT_SEQUENCE_AT = 128;
    private static final int DIRECTORY_BYTES = 136;

    private InodeFormat() {}

    static byte[] encode(Inode inode) {
        ByteBuffer out = ByteBuffer.allocate(length(inode)).order(ByteOrder.LITTLE_ENDIAN);
        out.put(VERSION_AT, VERSION);
        out.put(FLAGS_AT, (byte) flags(inode));
        out.putShort(TRUNCATIONS_AT, (short) inode.truncations.size());
        out.putInt(MODE_AT, inode.mode);
        out.putInt(NLINK_AT, inode.nlink);
        out.putInt(UID_AT, inode.uid);
        out.putInt(GID_AT, inode.gid);
        out.putInt(RDEV_AT, inode.rdev);
        out.putLong(SIZE_AT, inode.size);
        putTime(out, 0, inode.atime);
        putTime(out, 1, inode.mtime);
        putTime(out, 2, inode.ctime);
        putTime(out, 3, inode.btime);
        out.putLong(CHANGE_AT, inode.change);
        out.putInt(OPENERS_AT, inode.openers);
        out.putInt(XATTR_BYTES_AT, inode.xattrBytes);
        out.putInt(XATTR_LIST_AT, inode.xattrListBytes);
        out.putInt(POOL_AT, inode.layout.getPool());
        out.putInt(STRIPE_UNIT_AT, inode.layout.getStripeUnit());
        out.putInt(STRIPE_COUNT_AT, inode.layout.getStripeCount());
        out.putInt(CHUNK_SIZE_AT, inode.layout.getChunkSize());
        putTail(out, inode);
        return out.array();
    }

    private static int flags(Inode inode) {
        return (inode.leftovers ? LEFTOVERS : 0) | (inode.appender != 0 ? APPENDER : 0);
    }

    private static int regularLength(int truncations, int flags) {
        return TRUNCATION_LIST_AT
                + TRUNCATION_BYTES * truncations
                + ((flags & APPENDER) != 0 ? APPENDER_BYTES : 0);
    }

    private static int length(Inode inode) {
        return switch (Mode.type(inode.mode)) {
            case Mode.REGULAR -> regularLength(inode.truncations.size(), flags(inode));
            case Mode.DIRECTORY -> DIRECTORY_BYTES;
            case Mode.SYMLINK -> COMMON_BYTES + inode.target.size();
            default -> COMMON_BYTES;
        };
    }

    private static void putTail(ByteBuffer out, Inode inode) {
        switch (Mode.type(inode.mode)) {
            case Mode.REGULAR -> {
                out.putLong(CEILING_AT, inode.ceiling);
                out.putLong(TRUNCATE_SEQUENCE_AT, inode.truncateSequence);
                int at = TRUNCATION_LIST_AT;
                for (Truncation t : inode.truncations) {
                    out.putLong(at, t.getSequence());
                    out.putLong(at + 8, t.getSize());
                    at += TRUNCATION_BYTES;
                }
                if (inode.appender != 0) {
                    out.putLong(at, inode.appender);
                }
            }
            case Mode.DIRECTORY -> {
                out.putLong(PARENT_AT, inode.parent);
                out.putLong(NEXT_SEQUENCE_AT, inode.nextSequence);
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

    /** Throws {@link CorruptStateException} for anything {@link #encode} does not write. */
    public static Inode decode(long id, byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length < COMMON_BYTES
                || in.get(VERSION_AT) != VERSION
                || (in.get(FLAGS_AT) & ~allowedFlags(in)) != 0
                || in.getInt(ZERO_AT) != 0) {
            throw corrupt(id, value);
        }
        Inode inode = new Inode(id);
        inode.mode = in.getInt(MODE_AT);
        inode.nlink = in.getInt(NLINK_AT);
        inode.uid = in.getInt(UID_AT);
        inode.gid = in.getInt(GID_AT);
        inode.rdev = in.getInt(RDEV_AT);
        inode.size = in.getLong(SIZE_AT);
        inode.atime = time(in, 0);
        inode.mtime = time(in, 1);
        inode.ctime = time(in, 2);
        inode.btime = time(in, 3);
        inode.change = in.getLong(CHANGE_AT);
        inode.openers = in.getInt(OPENERS_AT);
        inode.xattrBytes = in.getInt(XATTR_BYTES_AT);
        inode.xattrListBytes = in.getInt(XATTR_LIST_AT);
        inode.layout = layout(in);
        inode.leftovers = (in.get(FLAGS_AT) & LEFTOVERS) != 0;
        readTail(in, inode, value);
        return inode;
    }

    private static int allowedFlags(ByteBuffer in) {
        return Mode.isRegular(in.getInt(MODE_AT)) ? LEFTOVERS | APPENDER : 0;
    }

    private static void readTail(ByteBuffer in, Inode inode, byte[] value) {
        int type = Mode.type(inode.mode);
        int truncations = in.getShort(TRUNCATIONS_AT) & 0xffff;
        int flags = in.get(FLAGS_AT);
        int expected =
                switch (type) {
                    case Mode.REGULAR -> regularLength(truncations, flags);
                    case Mode.DIRECTORY -> DIRECTORY_BYTES;
                    case Mode.SYMLINK -> (int) (COMMON_BYTES + inode.size);
                    default -> COMMON_BYTES;
                };
        if (value.length != expected) {
            throw corrupt(inode.id, value);
        }
        switch (type) {
            case Mode.REGULAR -> {
                inode.ceiling = in.getLong(CEILING_AT);
                inode.truncateSequence = in.getLong(TRUNCATE_SEQUENCE_AT);
                inode.truncations = truncations(in, truncations);
                if ((flags & APPENDER) != 0) {
                    inode.appender = in.getLong(expected - APPENDER_BYTES);
                }
            }
            case Mode.DIRECTORY -> {
                inode.parent = in.getLong(PARENT_AT);
                inode.nextSequence = in.getLong(NEXT_SEQUENCE_AT);
            }
            case Mode.SYMLINK ->
                    inode.target =
                            ByteString.copyFrom(value, COMMON_BYTES, value.length - COMMON_BYTES);
            default -> {}
        }
    }

    private static List<Truncation> truncations(ByteBuffer in, int count) {
        if (count == 0) {
            return List.of();
        }
        List<Truncation> list = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int at = TRUNCATION_LIST_AT + TRUNCATION_BYTES * i;
            list.add(
                    Truncation.newBuilder()
                            .setSequence(in.getLong(at))
                            .setSize(in.getLong(at + 8))
                            .build());
        }
        return List.copyOf(list);
    }

    private static FileLayout layout(ByteBuffer in) {
        return FileLayout.newBuilder()
                .setPool(in.getInt(POOL_AT))
                .setStripeUnit(in.getInt(STRIPE_UNIT_AT))
                .setStripeCount(in.getInt(STRIPE_COUNT_AT))
                .setChunkSize(in.getInt(CHUNK_SIZE_AT))
                .build();
    }

    private static void putTime(ByteBuffer out, int which, Time time) {
        out.putLong(SECONDS_AT + 8 * which, time.seconds());
        out.putInt(NANOS_AT + 4 * which, time.nanos());
    }

    private static Time time(ByteBuffer in, int which) {
        return new Time(in.getLong(SECONDS_AT + 8 * which), in.getInt(NANOS_AT + 4 * which));
    }

    private static CorruptStateException corrupt(long id, byte[] value) {
        return new CorruptStateException(
                "inode " + id + ": " + value.length + " bytes that are no inode record");
    }
}
