package io.cairn.dataserver.wal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Records that are written and synced together. Filled under the lock of {@link WalAppender} (room)
 * and outside of it (bytes), written by the sync thread, read by anyone: from the buffer until it
 * is durable, from the segment afterwards.
 */
public final class WalBatch implements PayloadSource {
    private final long firstLsn;
    private final AtomicInteger copying = new AtomicInteger();
    private final List<Runnable> callbacks = new ArrayList<>();
    private int used = WalBatchFormat.BYTES;
    private int records;
    private boolean urgent;

    // guarded by this
    private WalBuffers.@Nullable Buffer buffer;
    private int readers;
    private boolean written;
    private @Nullable WalSegment segment;
    private long position;

    WalBatch(long firstLsn, WalBuffers.Buffer buffer) {
        this.firstLsn = firstLsn;
        this.buffer = buffer;
    }

    /** A batch found by recovery. */
    WalBatch(long firstLsn, WalSegment segment, long position) {
        this.firstLsn = firstLsn;
        this.segment = segment;
        this.position = position;
        this.written = true;
    }

    // ---- filling, under the lock of the appender

    boolean hasRoom(int recordLength) {
        return buffer().capacity() - used >= recordLength;
    }

    /** Takes room for a record; {@link #copied} must follow when its bytes are in. */
    int reserve(int alignedLength, @Nullable Runnable callback, boolean isUrgent) {
        int at = used;
        used += alignedLength;
        records++;
        urgent |= isUrgent;
        if (callback != null) {
            callbacks.add(callback);
        }
        copying.incrementAndGet();
        return at;
    }

    int usedBytes() {
        return used;
    }

    boolean urgent() {
        return urgent;
    }

    long firstLsn() {
        return firstLsn;
    }

    long lastLsn() {
        return firstLsn + records - 1;
    }

    // ---- bytes

    /** The memory to fill; only between {@link #reserve} and {@link #copied}. */
    ByteBuffer memory() {
        return buffer().bytes();
    }

    void copied() {
        copying.decrementAndGet();
    }

    boolean complete() {
        return copying.get() == 0;
    }

    // ---- writing, by the sync thread

    int paddedLength() {
        return (used + WalSegmentFormat.BYTES - 1) & -WalSegmentFormat.BYTES;
    }

    /** Seals the batch for its place and returns the bytes to write. */
    ByteBuffer seal(WalSegment target, long at, long syncedLsn, UUID disk) {
        ByteBuffer b = memory();
        int offset = WalBatchFormat.BYTES;
        for (int i = 0; i < records; i++) {
            offset += WalRecordFormat.seal(b, offset, target.salt());
        }
        WalBatchFormat.encode(
                b,
                new WalBatchFormat.Header(
                        target.salt(), target.generation(), firstLsn, syncedLsn, used, records),
                disk);
        int padded = paddedLength();
        for (int i = used; i < padded; i++) {
            b.put(i, (byte) 0);
        }
        synchronized (this) {
            segment = target;
            position = at;
        }
        return b.slice(0, padded);
    }

    /** The batch is durable: readers go to the segment, the buffer goes back. */
    void durable() {
        WalBuffers.Buffer done = null;
        synchronized (this) {
            written = true;
            if (readers == 0) {
                done = buffer;
                buffer = null;
            }
        }
        if (done != null) {
            done.release();
        }
    }

    /**
     * Tells whoever waited for the batch; they are not kept, as readers hold the batch for long.
     */
    void runCallbacks() {
        callbacks.forEach(Runnable::run);
        callbacks.clear();
    }

    // ---- reading

    @Override
    public void read(int offset, ByteBuffer target) throws IOException {
        WalBuffers.Buffer memory;
        WalSegment from;
        synchronized (this) {
            memory = buffer;
            from = segment;
            if (memory != null) {
                readers++;
            }
        }
        if (memory != null) {
            int n = target.remaining();
            target.put(target.position(), memory.bytes(), offset, n);
            target.position(target.position() + n);
            readerGone();
        } else if (from != null) {
            from.read(target, position + offset);
        } else {
            throw new IllegalStateException("batch of LSN " + firstLsn + " has no bytes");
        }
    }

    private void readerGone() {
        WalBuffers.Buffer done = null;
        synchronized (this) {
            readers--;
            if (written && readers == 0) {
                done = buffer;
                buffer = null;
            }
        }
        if (done != null) {
            done.release();
        }
    }

    private WalBuffers.Buffer buffer() {
        WalBuffers.Buffer b = buffer;
        if (b == null) {
            throw new IllegalStateException("batch of LSN " + firstLsn + " is written already");
        }
        return b;
    }
}
