package io.cairn.common.rocks;

import io.cairn.common.metrics.MeterSpec;

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
    SPILLED_LEVELS("", "Levels planned for the fast device that lie partly on the slow one", "");

    private final Definition definition;
    private final String property;

    RocksMeter(String unit, String description, String property) {
        definition = Definition.of(Kind.GAUGE, unit, description, "database");
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
