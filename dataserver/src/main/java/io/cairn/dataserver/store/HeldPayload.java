package io.cairn.dataserver.store;

import io.cairn.dataserver.wal.PayloadSource;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The payload of an operation that is not in the WAL yet, in memory; later it reads from where the
 * payload went. Any thread.
 */
final class HeldPayload implements PayloadSource {
    // guarded by this
    private @Nullable ByteBuf bytes;
    private @Nullable WalRecord movedTo;

    /**
     * @param bytes released here
     */
    HeldPayload(ByteBuf bytes) {
        this.bytes = bytes;
    }

    /** The bytes; only while nobody may have released them. */
    ByteBuf bytes() {
        ByteBuf b;
        synchronized (this) {
            b = bytes;
        }
        if (b == null) {
            throw new IllegalStateException("the payload is no longer held");
        }
        return b;
    }

    /**
     * Lets the memory go.
     *
     * @param record null if the operation was dropped: readers that are late get bytes that do not
     *     match their checksums
     */
    void release(@Nullable WalRecord record) {
        ByteBuf b;
        synchronized (this) {
            b = bytes;
            bytes = null;
            movedTo = record;
        }
        if (b != null) {
            b.release();
        }
    }

    @Override
    public void read(int offset, ByteBuffer target) throws IOException {
        ByteBuf b;
        WalRecord next;
        synchronized (this) {
            b = bytes == null ? null : bytes.retain();
            next = movedTo;
        }
        if (b != null) {
            try {
                b.getBytes(b.readerIndex() + offset, target);
            } finally {
                b.release();
            }
        } else if (next != null) {
            next.read(offset, target);
        } else {
            target.position(target.limit());
        }
    }
}
