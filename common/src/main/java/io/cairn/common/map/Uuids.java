package io.cairn.common.map;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.UUID;

/**
 * The ids of clusters, servers, disks and clients as they travel: the 16 bytes of a UUID, most
 * significant first. Formats on disk have its two halves in their own byte order. Stateless.
 */
public final class Uuids {
    public static final int BYTES = 16;

    private Uuids() {}

    public static ByteString random() {
        return bytes(UUID.randomUUID());
    }

    public static ByteString bytes(UUID uuid) {
        return ByteString.copyFrom(
                ByteBuffer.allocate(BYTES)
                        .putLong(uuid.getMostSignificantBits())
                        .putLong(uuid.getLeastSignificantBits())
                        .flip());
    }

    /**
     * @throws IllegalArgumentException when it has not 16 bytes
     */
    public static UUID of(ByteString id) {
        if (id.size() != BYTES) {
            throw new IllegalArgumentException("an id of " + id.size() + " bytes instead of 16");
        }
        ByteBuffer bytes = id.asReadOnlyByteBuffer();
        return new UUID(bytes.getLong(), bytes.getLong());
    }

    /** As people see an id: hexadecimal, without hyphens. */
    public static String hex(ByteString id) {
        return HexFormat.of().formatHex(id.toByteArray());
    }

    /** Puts the two halves at the index, the most significant first, in the buffer's byte order. */
    public static void put(ByteBuffer to, int index, UUID uuid) {
        to.putLong(index, uuid.getMostSignificantBits());
        to.putLong(index + Long.BYTES, uuid.getLeastSignificantBits());
    }

    /** What {@link #put} has put. */
    public static UUID get(ByteBuffer from, int index) {
        return new UUID(from.getLong(index), from.getLong(index + Long.BYTES));
    }
}
