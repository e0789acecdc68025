package io.cairn.common.map;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * The ids of clusters, servers, disks and clients as they travel: the 16 bytes of a UUID, most
 * significant first. Stateless.
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
}
