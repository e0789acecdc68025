package io.cairn.dataserver.ground;

import io.netty.util.internal.PlatformDependent;

/**
 * How the direct memory of the process (-XX:MaxDirectMemorySize) is shared out. A quarter is for
 * what is bounded elsewhere: answers to reads, what waits to be sent, the buffers of connections.
 *
 * @param operationBytes for operations in flight, received and in the buffers of the logs
 * @param receiveBytes for large messages of clients, until they are handed over
 */
public record DirectMemory(long operationBytes, long receiveBytes) {
    /** One message must fit, whatever there is. */
    private static final long MIN_RECEIVE_BYTES = 8 << 20;

    /** What this process may have. */
    public static DirectMemory ofProcess() {
        return of(PlatformDependent.maxDirectMemory());
    }

    static DirectMemory of(long maxBytes) {
        return new DirectMemory(maxBytes / 8 * 5, Math.max(MIN_RECEIVE_BYTES, maxBytes / 8));
    }
}
