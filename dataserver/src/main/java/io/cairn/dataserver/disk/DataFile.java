package io.cairn.dataserver.disk;

import io.cairn.common.libc.FileSpace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one disk, numbered from 0, which is the superblock. Any thread.
 *
 * <p>The kernel tells one caller of a failed sync, and drops what could not be written: a sync
 * after it succeeds. So the first failure fences the file: from then on nothing is written to it
 * and no sync succeeds, not even one in progress beside the failed one.
 */
public final class DataFile implements AutoCloseable {
    public static final int BLOCK_BYTES = 4096;

    private final DeviceFile device;
    private final long blocks;
    private final ReentrantLock syncing = new ReentrantLock();
    private volatile @Nullable String fence;

    public DataFile(DeviceFile device, long capacityBytes) {
        this.device = device;
        this.blocks = capacityBytes / BLOCK_BYTES;
    }

    /**
     * The same blocks past the page cache, to be read by one thread: what the medium has. To be
     * closed by the caller.
     */
    public static DataFile uncached(DeviceFiles files, Path path, long capacityBytes)
            throws IOException {
        return new DataFile(new UncachedReads(files.openDirect(path)), capacityBytes);
    }

    public long blocks() {
        return blocks;
    }

    /** Fills the buffer from the block on; not verified. */
    public void read(long block, ByteBuffer target) throws IOException {
        device.read(target, position(block, target));
    }

    /** Fills the buffer from any byte on; not verified. */
    public void readBytes(long position, ByteBuffer target) throws IOException {
        device.read(target, position);
    }

    /** Throws IOException also if something failed before. */
    public void write(long block, ByteBuffer source) throws IOException {
        long position = position(block, source);
        check();
        try {
            device.write(source, position);
        } catch (IOException e) {
            fence("a write failed: " + e.getMessage());
            throw e;
        }
    }

    /** Throws IOException also if something failed before, or fails meanwhile. */
    public void force() throws IOException {
        syncing.lock();
        try {
            check();
            device.force();
            check();
        } catch (IOException e) {
            fence("a sync failed: " + e.getMessage());
            throw e;
        } finally {
            syncing.unlock();
        }
    }

    /** See {@link DeviceFile#reserve}. */
    public FileSpace.Outcome reserve(long firstBlock, long count) throws IOException {
        return device.reserve(firstBlock * BLOCK_BYTES, count * BLOCK_BYTES);
    }

    /** See {@link DeviceFile#unreserve}. */
    public void unreserve(long firstBlock, long count) throws IOException {
        device.unreserve(firstBlock * BLOCK_BYTES, count * BLOCK_BYTES);
    }

    /** See {@link DeviceFile#allocatedBytes}. */
    public long allocatedBytes() throws IOException {
        return device.allocatedBytes();
    }

    /** See {@link DeviceFile#roomBytes}. */
    public long roomBytes() throws IOException {
        return device.roomBytes();
    }

    /** From now on nothing is written and no sync succeeds. */
    public void fence(String why) {
        if (fence == null) {
            fence = why;
        }
    }

    public boolean isFenced() {
        return fence != null;
    }

    private void check() throws IOException {
        String why = fence;
        if (why != null) {
            throw new IOException("the data file takes nothing more: " + why);
        }
    }

    @Override
    public void close() throws IOException {
        device.close();
    }

    private long position(long block, ByteBuffer buffer) throws IOException {
        if (block < 1 || block + buffer.remaining() / BLOCK_BYTES > blocks) {
            throw new IOException("block " + block + " lies outside the data file");
        }
        return block * BLOCK_BYTES;
    }
}
