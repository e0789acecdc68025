package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Reads whole pages of a device that was opened past the page cache, into any memory: by way of
 * memory that begins at a page. Used by one thread; never written.
 */
final class UncachedReads implements DeviceFile {
    private static final int BUFFER_BYTES = 1 << 20;

    private final DeviceFile device;
    private final ByteBuffer pages = PageBuffers.allocate(BUFFER_BYTES);

    UncachedReads(DeviceFile device) {
        this.device = device;
    }

    @Override
    public void read(ByteBuffer target, long position) throws IOException {
        long at = position;
        while (target.hasRemaining()) {
            int bytes = Math.min(target.remaining(), BUFFER_BYTES);
            device.read(pages.clear().limit(bytes), at);
            target.put(pages.flip());
            at += bytes;
        }
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
        throw new IOException("opened for reading only");
    }

    @Override
    public void force() throws IOException {
        throw new IOException("opened for reading only");
    }

    @Override
    public long sizeBytes() throws IOException {
        return device.sizeBytes();
    }

    @Override
    public void close() throws IOException {
        device.close();
    }
}
