package io.cairn.mds.store;

import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import java.util.function.Consumer;

/**
 * What the replicated state runs with.
 *
 * @param rocks options of its RocksDB
 * @param memory block cache and write buffers, shared by the process
 * @param meters where RocksDB's metrics go
 * @param fatal told once why the process must stop
 * @param cachedInodes inodes, and as many directory entries, kept in memory in front of RocksDB
 */
public record MetaStateConfig(
        RocksConfig rocks,
        RocksMemory memory,
        Meters meters,
        Consumer<String> fatal,
        int cachedInodes) {
    /** About 30 MiB of heap. */
    public static final int DEFAULT_CACHED_INODES = 32_768;
}
