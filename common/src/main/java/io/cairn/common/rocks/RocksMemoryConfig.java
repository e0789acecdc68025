package io.cairn.common.rocks;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;

/** The {@code [rocksdb_memory]} table: one limit for all databases of the process. */
public record RocksMemoryConfig(
        @Key(
                        value =
                                "Memory for block cache and memtables of all databases of the process together.",
                        defaultValue = "256MiB",
                        min = "16MiB")
                ByteSize limit,
        @Key(
                        value =
                                "Part of the limit that memtables may take. At half of it the database with the most is"
                                        + " flushed, before as many memtables are full as the preset"
                                        + " merges.",
                        defaultValue = "128MiB",
                        min = "4MiB")
                ByteSize writeBuffers) {
    public RocksMemoryConfig {
        KeyException.require(
                writeBuffers.compareTo(limit) <= 0,
                "write_buffers",
                "must not exceed limit (" + limit + ")");
    }
}
