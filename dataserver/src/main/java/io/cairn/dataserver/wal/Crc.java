package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import java.nio.ByteBuffer;

/** CRC32C of a stretch of a buffer, whatever its position and limit. Any thread. */
public final class Crc {
    private Crc() {}

    public static int of(ByteBuffer buffer, int offset, int length) {
        return BlockCrc.of(buffer.slice(offset, length));
    }
}
