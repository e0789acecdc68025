package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A directory entry as a value in RocksDB, little-endian.
 *
 * <pre>
 *  0  version:1 (1)   type:1 (mode >> 12)
 *  2  inode:8
 * 10  sequence:8
 * 18  name, to the end (only under the key that gives the order)
 * </pre>
 */
public final class DentryFormat {
    static final byte VERSION = 1;
    static final int FIXED_BYTES = 18;

    private static final int VERSION_OFFSET = 0;
    private static final int TYPE_OFFSET = 1;
    private static final int INODE_OFFSET = 2;
    private static final int SEQUENCE_OFFSET = 10;

    private DentryFormat() {}

    static byte[] encode(Dentry dentry, ByteString name) {
        ByteBuffer out =
                ByteBuffer.allocate(FIXED_BYTES + name.size()).order(ByteOrder.LITTLE_ENDIAN);
        out.put(VERSION_OFFSET, VERSION);
        out.put(TYPE_OFFSET, (byte) (dentry.type() >>> 12));
        out.putLong(INODE_OFFSET, dentry.inode());
        out.putLong(SEQUENCE_OFFSET, dentry.sequence());
        name.copyTo(out.array(), FIXED_BYTES);
        return out.array();
    }

    public static Dentry decode(byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length < FIXED_BYTES || in.get(VERSION_OFFSET) != VERSION) {
            throw new CorruptStateException(value.length + " bytes that are no directory entry");
        }
        return new Dentry(
                in.getLong(INODE_OFFSET),
                in.getLong(SEQUENCE_OFFSET),
                (in.get(TYPE_OFFSET) & 0xf) << 12);
    }

    /** Empty where the value was stored without a name. */
    public static ByteString name(byte[] value) {
        return ByteString.copyFrom(value, FIXED_BYTES, value.length - FIXED_BYTES);
    }
}
