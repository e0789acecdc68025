package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * What all values of the chunk index have in common: little-endian, CRC32C of it all at the end.
 */
final class IndexValue {
    static final int CRC_BYTES = 4;

    private IndexValue() {}

    static ByteBuffer allocate(int bytesWithoutCrc) {
        return ByteBuffer.allocate(bytesWithoutCrc + CRC_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Puts the checksum into the last four bytes; all before must be there. */
    static byte[] seal(ByteBuffer value) {
        int end = value.capacity() - CRC_BYTES;
        value.putInt(end, crc(value.array(), end));
        return value.array();
    }

    /** Throws IndexDamagedException if the checksum does not match or it is shorter than that. */
    static ByteBuffer open(byte[] value, int minimumBytes, String what) {
        if (value.length < minimumBytes + CRC_BYTES) {
            throw new IndexDamagedException(what + " has only " + value.length + " bytes");
        }
        ByteBuffer b = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        int end = value.length - CRC_BYTES;
        if (b.getInt(end) != crc(value, end)) {
            throw new IndexDamagedException(what + ": its checksum is wrong");
        }
        return b.limit(end);
    }

    /** The checksum at the end of a sealed value. */
    static int crc(byte[] sealed) {
        return ByteBuffer.wrap(sealed)
                .order(ByteOrder.LITTLE_ENDIAN)
                .getInt(sealed.length - CRC_BYTES);
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }
}
