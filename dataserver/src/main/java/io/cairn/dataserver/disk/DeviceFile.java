package io.cairn.dataserver.disk;

import io.cairn.common.libc.FileSpace;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A file or block device of fixed size, written in whole 4 KiB pages. Any thread.
 *
 * <p>This is the only door to storage below the WAL and the data file, so that tests can put a
 * device behind it that forgets, tears and corrupts.
 */
public interface DeviceFile extends AutoCloseable {
    int PAGE_BYTES = 4096;

    /** Writes all remaining bytes; durable only after {@link #force}. */
    void write(ByteBuffer source, long position) throws IOException;

    /** Fills the buffer; an end of file before that is an IOException. */
    void read(ByteBuffer target, long position) throws IOException;

    /** Returns when everything written before the call is on the medium (fdatasync). */
    void force() throws IOException;

    long sizeBytes() throws IOException;

    /**
     * Keeps space for a range, so that no write to it fails for want of space. After NO_SPACE a
     * part of it may be kept. What has all of its space always is DONE with it.
     */
    default FileSpace.Outcome reserve(long position, long bytes) throws IOException {
        return FileSpace.Outcome.DONE;
    }

    /** Gives back the space of a range whose content nobody needs. */
    default void unreserve(long position, long bytes) throws IOException {}

    /** Space that is kept for it now, bytes. */
    default long allocatedBytes() throws IOException {
        return sizeBytes();
    }

    /** Space left in the file system below, bytes; MAX_VALUE if there is none below. */
    default long roomBytes() throws IOException {
        return Long.MAX_VALUE;
    }

    @Override
    void close() throws IOException;
}
