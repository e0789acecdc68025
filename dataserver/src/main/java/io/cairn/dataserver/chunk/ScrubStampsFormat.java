package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of what is known of a PG's scrubs, little-endian.
 *
 * <pre>
 *  0 u64 when it was first seen, milliseconds since 1970
 *  8 u64 beginning of the last scrub, 0: never
 * 16 u64 beginning of the last deep scrub, 0: never
 * 24 u32 differences between replicas that the last scrub found
 * 28 u32 CRC32C of bytes 0..27
 * </pre>
 */
public final class ScrubStampsFormat {
    static final int BYTES = 28;

    private static final int SINCE_OFFSET = 0;
    private static final int LIGHT_OFFSET = 8;
    private static final int DEEP_OFFSET = 16;
    private static final int DIFFERENCES_OFFSET = 24;

    private ScrubStampsFormat() {}

    static byte[] encode(ScrubStamps s) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES)
                        .putLong(SINCE_OFFSET, s.sinceMillis())
                        .putLong(LIGHT_OFFSET, s.lightMillis())
                        .putLong(DEEP_OFFSET, s.deepMillis())
                        .putInt(DIFFERENCES_OFFSET, s.differences()));
    }

    static ScrubStamps decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "row of a PG's scrubs");
        return new ScrubStamps(
                b.getLong(SINCE_OFFSET),
                b.getLong(LIGHT_OFFSET),
                b.getLong(DEEP_OFFSET),
                b.getInt(DIFFERENCES_OFFSET));
    }
}
