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

    private static final int VERSION_AT = 0;
    private static final int TYPE_AT = 1;
    private static final int INODE_AT = 2;
    private static final int SEQUENCE_AT = 10;

    private DentryFormat() {}

    static byte[] encode(Dentry dentry, ByteString name) {
        ByteBuffer out =
                ByteBuffer.allocate(FIXED_BYTES + name.size()).order(ByteOrder.LITTLE_ENDIAN);
        out.put(VERSION_AT, VERSION);
        out.put(TYPE_AT, (byte) (dentry.type() >>> 12));
        out.putLong(INODE_AT, dentry.inode());
        out.putLong(SEQUENCE_AT, dentry.sequence());
        name.copyTo(out.array(), FIXED_BYTES);
        return out.array();
    }

    public static Dentry decode(byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length < FIXED_BYTES || in.get(VERSION_AT) != VERSION) {
            throw new CorruptStateException(value.length + " bytes that are no directory entry");
        }
        return new Dentry(
                in.getLong(INODE_AT), in.getLong(SEQUENCE_AT), (in.get(TYPE_AT) & 0xf) << 12);
    }

    /** Empty where the value was stored without a name. */
    public static ByteString name(byte[] value) {
        return ByteString.copyFrom(value, FIXED_BYTES, value.length - FIXED_BYTES);
    }
}
