package io.cairn.mds.raft;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Predicate;

/**
 * What Cairn puts into the data of one Ratis log entry.
 *
 * <pre>
 *   0        8
 *   +--------+----------------------+
 *   |committed| LogEntry (protobuf) |
 *   +--------+----------------------+
 * </pre>
 *
 * {@code committed} (little-endian) is an index that the leader knew to be committed when it made
 * the entry; what is committed was synced by a majority and by the leader itself. {@link LogTail}
 * tells damage from a torn tail by it: if a later record says that an unreadable one was committed,
 * the unreadable one was synced once.
 *
 * <p>Stateless, any thread.
 */
final class LogDataFormat {
    static final int HEADER_BYTES = 8;

    private LogDataFormat() {}

    static ByteBuffer header(long committed) {
        return ByteBuffer.allocate(HEADER_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(committed)
                .flip();
    }

    /** The index in the header; the data must be at least {@link #HEADER_BYTES} long. */
    static long committed(ByteBuffer data) {
        return data.duplicate().order(ByteOrder.LITTLE_ENDIAN).getLong(data.position());
    }

    /**
     * Whether there are a header and an entry.
     *
     * @param entries whether an entry can be decoded
     */
    static boolean readable(ByteBuffer data, Predicate<ByteString> entries) {
        return data.remaining() >= HEADER_BYTES && entries.test(entry(data));
    }

    /** The entry behind the header, not copied. */
    static ByteString entry(ByteBuffer data) {
        if (data.remaining() < HEADER_BYTES) {
            throw new IllegalArgumentException(
                    "log data of "
                            + data.remaining()
                            + " bytes, "
                            + HEADER_BYTES
                            + " are the least");
        }
        return UnsafeByteOperations.unsafeWrap(
                data.slice(data.position() + HEADER_BYTES, data.remaining() - HEADER_BYTES));
    }
}
