package io.cairn.common.rocks;

import io.cairn.common.metrics.MeterSpec;
import java.util.ArrayList;
import java.util.List;

/** What RocksDB tells about itself; a property each, read when the metrics are. */
public enum RocksMeter implements MeterSpec {
    MEMTABLES("bytes", "Memory in memtables", "rocksdb.cur-size-all-mem-tables"),
    TABLES("bytes", "Size of all table files", "rocksdb.total-sst-files-size"),
    LIVE_DATA("bytes", "Estimated size of live data", "rocksdb.estimate-live-data-size"),
    KEYS("", "Estimated number of keys", "rocksdb.estimate-num-keys"),
    PENDING_COMPACTION(
            "bytes", "Estimated bytes to compact", "rocksdb.estimate-pending-compaction-bytes"),
    RUNNING_COMPACTIONS("", "Compactions running", "rocksdb.num-running-compactions"),
    RUNNING_FLUSHES("", "Flushes running", "rocksdb.num-running-flushes"),
    IMMUTABLE_MEMTABLES("", "Memtables waiting for their flush", "rocksdb.num-immutable-mem-table"),
    WRITE_STOPPED("", "1 while writes are stopped", "rocksdb.is-write-stopped"),
    DELAYED_WRITE_RATE(
            "bytes",
            "Bytes a second to which writers are slowed, 0: not",
            "rocksdb.actual-delayed-write-rate"),
    BACKGROUND_ERRORS("", "Failed flushes and compactions", "rocksdb.background-errors"),
    BLOCK_CACHE("bytes", "Block cache in use, shared by the process", "rocksdb.block-cache-usage"),
    SLOW("bytes", "Bytes of tables on the slow device", ""),
    SPILLED_LEVELS("", "Levels with tables on the slow device", ""),
    LEVEL(
            "bytes",
            "Bytes of tables of a level on a device: `fast`, which is also the only one, or `slow`",
            "",
            "level",
            "device");

    private final Definition definition;
    private final String property;

    RocksMeter(String unit, String description, String property, String... tags) {
        List<String> names = new ArrayList<>(List.of("database"));
        names.addAll(List.of(tags));
        definition = new Definition(Kind.GAUGE, unit, description, List.copyOf(names));
        this.property = property;
    }

    /** Name of RocksDB's property, empty for what is computed from the list of tables. */
    String property() {
        return property;
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.rocksdb";
    }
}
