package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.PageBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Reads segments as their device has them, in large pieces: past the page cache nothing reads
 * ahead. For one thread.
 */
final class SegmentWindow {
    private static final int WINDOW_BYTES = 1 << 20;

    private final int segmentBytes;
    private ByteBuffer memory = PageBuffers.allocate(WINDOW_BYTES);
    private @Nullable WalSegment segment;
    private long start;
    private int length;

    SegmentWindow(int segmentBytes) {
        this.segmentBytes = segmentBytes;
    }

    /**
     * Bytes of a segment, little-endian; valid until the next call.
     *
     * @param position of a page
     */
    ByteBuffer read(WalSegment from, long position, int bytes) throws IOException {
        boolean inside =
                from.equals(segment) && position >= start && position + bytes <= start + length;
        if (!inside) {
            load(from, position, PageBuffers.wholePages(bytes));
        }
        return memory.slice((int) (position - start), bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void load(WalSegment from, long position, int needed) throws IOException {
        segment = null;
        int ahead = (int) Math.min(Math.max(needed, WINDOW_BYTES), segmentBytes - position);
        if (memory.capacity() < ahead) {
            memory = PageBuffers.allocate(ahead);
        }
        try {
            fill(from, position, ahead);
        } catch (IOException e) {
            // Perhaps of a sector that nobody needs.
            fill(from, position, needed);
        }
        segment = from;
    }

    private void fill(WalSegment from, long position, int bytes) throws IOException {
        memory.clear().limit(bytes);
        from.readPages(memory, position);
        start = position;
        length = bytes;
    }
}
