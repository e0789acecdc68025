package io.cairn.common.rpc;

import static org.awaitility.Awaitility.await;

import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import java.time.Duration;

/**
 * Counts the pooled buffers that are alive, to prove that a test gave all of them back. Event loops
 * keep some in their caches: end them first.
 */
public final class PooledBuffers {
    private PooledBuffers() {}

    public static long live() {
        return PooledByteBufAllocator.DEFAULT.metric().directArenas().stream()
                .mapToLong(PoolArenaMetric::numActiveAllocations)
                .sum();
    }

    /** Waits for it: the last reference may be dropped by a thread that is just ending. */
    public static void assertLive(long expected) {
        await("pooled buffers given back, " + expected + " were alive before")
                .atMost(Duration.ofSeconds(10))
                .until(PooledBuffers::live, now -> now == expected);
    }
}
