package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The blocks of one disk, numbered from 0, which is the superblock. Any thread. */
public final class DataFile implements AutoCloseable {
    public static final int BLOCK_BYTES = 4096;

    private final DeviceFile device;
    private final long blocks;

    public DataFile(DeviceFile device, long capacityBytes) {
        this.device = device;
        this.blocks = capacityBytes / BLOCK_BYTES;
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

    public void write(long block, ByteBuffer source) throws IOException {
        device.write(source, position(block, source));
    }

    public void force() throws IOException {
        device.force();
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
