package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DeviceFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * One file of the WAL and its present use. Guarded by {@link WalSegments}. It is written past the
 * page cache, and read so by recovery; payloads are read through the cache, which thus never has
 * anything but what the device had.
 */
final class WalSegment {
    private final Path path;
    private final DeviceFile device;
    private final DeviceFile cached;
    private volatile WalSegmentFormat.@Nullable Header use;

    /**
     * @param device past the page cache
     * @param cached the same file through the cache
     */
    WalSegment(Path path, DeviceFile device, DeviceFile cached) {
        this.path = path;
        this.device = device;
        this.cached = cached;
    }

    Path path() {
        return path;
    }

    /** Past the page cache: whole pages only. */
    DeviceFile device() {
        return device;
    }

    void close() throws IOException {
        try (device;
                cached) {
            // both, also when one of them fails
        }
    }

    /** Fills the buffer from any byte on, through the cache. */
    void read(ByteBuffer target, long position) throws IOException {
        read(cached, target, position);
    }

    /** Fills the buffer with whole pages as the device has them. */
    void readPages(ByteBuffer target, long position) throws IOException {
        read(device, target, position);
    }

    /** An error names the file, for it is the whole disk's failure. */
    private void read(DeviceFile from, ByteBuffer target, long position) throws IOException {
        try {
            from.read(target, position);
        } catch (IOException e) {
            throw new IOException(
                    path + ", of the write-ahead log, cannot be read: " + e.getMessage(), e);
        }
    }

    void use(WalSegmentFormat.@Nullable Header header) {
        use = header;
    }

    WalSegmentFormat.@Nullable Header use() {
        return use;
    }

    long salt() {
        return header().salt();
    }

    long generation() {
        return header().generation();
    }

    long firstLsn() {
        return header().firstLsn();
    }

    private WalSegmentFormat.Header header() {
        WalSegmentFormat.Header h = use;
        if (h == null) {
            throw new IllegalStateException(path + " is not in use");
        }
        return h;
    }
}
