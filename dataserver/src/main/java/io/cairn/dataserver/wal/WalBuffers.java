package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.PageBuffers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * The memory batches are filled in: a few buffers of one size that are kept, and more while the
 * device is behind, which admission keeps few. A record larger than the size gets a buffer of its
 * own. Any thread.
 */
final class WalBuffers {
    private final int standardBytes;
    private final int kept;
    private final ArrayDeque<Buffer> idle = new ArrayDeque<>();
    private boolean closed;

    WalBuffers(int standardBytes, int kept) {
        this.standardBytes = standardBytes;
        this.kept = kept;
    }

    /** A buffer of at least that many bytes, whole pages. */
    Buffer take(int minimumBytes) {
        synchronized (this) {
            if (minimumBytes <= standardBytes && !idle.isEmpty()) {
                return idle.pop();
            }
        }
        int pages = PageBuffers.wholePages(Math.max(minimumBytes, standardBytes));
        int withRoomToAlign = pages + DeviceFile.PAGE_BYTES;
        return new Buffer(Unpooled.directBuffer(withRoomToAlign, withRoomToAlign), pages);
    }

    synchronized void close() {
        closed = true;
        idle.forEach(b -> b.memory.release());
        idle.clear();
    }

    private void giveBack(Buffer buffer) {
        synchronized (this) {
            if (!closed && buffer.capacity() == standardBytes && idle.size() < kept) {
                idle.push(buffer);
                return;
            }
        }
        buffer.memory.release();
    }

    /** Whole pages of memory, aligned for direct I/O, in little-endian order. */
    final class Buffer {
        private final ByteBuf memory;
        private final ByteBuffer bytes;

        private Buffer(ByteBuf memory, int bytes) {
            this.memory = memory;
            this.bytes = PageBuffers.aligned(memory.internalNioBuffer(0, memory.capacity()), bytes);
        }

        /** Shared: use absolute positions only. */
        ByteBuffer bytes() {
            return bytes;
        }

        int capacity() {
            return bytes.capacity();
        }

        void release() {
            giveBack(this);
        }
    }
}
