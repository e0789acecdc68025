package io.cairn.dataserver.disk;

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

    @Override
    void close() throws IOException;
}
