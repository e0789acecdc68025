package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DeviceFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** One file of the WAL and its present use. Guarded by {@link WalSegments}. */
final class WalSegment {
    private final Path path;
    private final DeviceFile device;
    private volatile WalSegmentFormat.@Nullable Header use;

    WalSegment(Path path, DeviceFile device) {
        this.path = path;
        this.device = device;
    }

    Path path() {
        return path;
    }

    DeviceFile device() {
        return device;
    }

    /** Fills the buffer; an error names the file, for it is the whole disk's failure. */
    void read(ByteBuffer target, long position) throws IOException {
        try {
            device.read(target, position);
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
