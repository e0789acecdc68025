package io.cairn.common.rocks;

import io.cairn.common.config.KeyException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.RocksDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The options requested of a database, resolved from preset, level sizing, keys and free options,
 * in this order.
 *
 * @param requested by RocksDB's names
 * @param plan which levels lie on the fast device, if there are two
 */
record RocksOptions(RocksConfig config, Map<String, String> requested, Optional<LevelPlan> plan) {
    private static final Logger LOG = LoggerFactory.getLogger(RocksOptions.class);

    /** Options that Cairn itself decides; giving them would break what it relies on. */
    private static final Set<String> OURS =
            Set.of(
                    "create_if_missing",
                    "error_if_exists",
                    "table_factory",
                    "block_based_table_factory",
                    "db_paths",
                    "cf_paths",
                    "write_buffer_manager",
                    "wal_dir",
                    "merge_operator",
                    "comparator",
                    "allow_mmap_writes");

    /** What decides of the sizes of levels beside the keys of the configuration. */
    private static final List<String> SIZES =
            List.of(
                    "level_compaction_dynamic_level_bytes",
                    "max_bytes_for_level_base",
                    "max_bytes_for_level_multiplier",
                    "max_bytes_for_level_multiplier_additional");

    static RocksOptions resolve(RocksConfig config) {
        Map<String, String> all = config.preset().options();
        putKeys(config, all);
        all.putAll(config.options());
        Optional<LevelPlan> plan = plan(config, all);
        plan.ifPresent(p -> all.put("max_bytes_for_level_base", Long.toString(p.baseBytes())));
        return new RocksOptions(config, Map.copyOf(all), plan);
    }

    private static void putKeys(RocksConfig c, Map<String, String> all) {
        c.compression().ifPresent(v -> all.put("compression", v.optionValue()));
        put(all, "max_write_buffer_number", c.maxWriteBufferNumber());
        put(all, "min_write_buffer_number_to_merge", c.minWriteBufferNumberToMerge());
        put(all, "write_buffer_size", c.writeBufferSize().map(s -> s.bytes()));
        put(all, "level0_file_num_compaction_trigger", c.level0FileNumCompactionTrigger());
        put(all, "level0_slowdown_writes_trigger", c.level0SlowdownWritesTrigger());
        put(all, "level0_stop_writes_trigger", c.level0StopWritesTrigger());
        put(all, "max_bytes_for_level_base", c.maxBytesForLevelBase().map(s -> s.bytes()));
        put(all, "max_bytes_for_level_multiplier", c.maxBytesForLevelMultiplier());
        put(all, "target_file_size_base", c.targetFileSizeBase().map(s -> s.bytes()));
        put(all, "compaction_readahead_size", c.compactionReadaheadSize().map(s -> s.bytes()));
        put(all, "max_background_jobs", c.maxBackgroundJobs());
    }

    private static void put(
            Map<String, String> all, String name, Optional<? extends Number> value) {
        value.ifPresent(v -> all.put(name, v.toString()));
    }

    private static Optional<LevelPlan> plan(RocksConfig config, Map<String, String> all) {
        if (config.fastSize().isEmpty()) {
            return Optional.empty();
        }
        long fast = config.fastSize().get().bytes();
        double multiplier =
                Double.parseDouble(all.getOrDefault("max_bytes_for_level_multiplier", "10"));
        if (config.levelSizing() == LevelSizing.FIXED) {
            long base =
                    Long.parseLong(
                            EffectiveOptions.normal(
                                    all.getOrDefault("max_bytes_for_level_base", "256M")));
            LevelPlan plan = LevelPlan.fixed(fast, base, multiplier);
            if (plan.levels() == 0) {
                LOG.warn(
                        "max_bytes_for_level_base = {} leaves no level but level 0 on a fast device of {}"
                                + " bytes: use level_sizing = \"auto\"",
                        base,
                        fast);
            }
            return Optional.of(plan);
        }
        LevelPlan plan =
                LevelPlan.of(
                        fast,
                        (int) multiplier,
                        config.levelSizing() == LevelSizing.AUTO_COMPACT_SAFE);
        if (!plan.exact()) {
            LOG.warn(
                    "no number of levels fills {} bytes of the fast device with a base of 256 MiB to 1 GiB:"
                            + " using 1 GiB and {} levels, the rest of the device stays unused",
                    fast,
                    plan.levels());
        }
        return Optional.of(plan);
    }

    /** Options of the database as a whole; the caller closes them. */
    DBOptions newDbOptions() {
        Properties own = new Properties();
        requested.forEach((name, value) -> {
            if (isDbOption(name, value)) {
                own.setProperty(name, value);
            }
        });
        try (ConfigOptions strict = strict()) {
            return own.isEmpty() ? new DBOptions() : DBOptions.getDBOptionsFromProps(strict, own);
        }
    }

    /** Options of the column family; the caller closes them. */
    ColumnFamilyOptions newColumnFamilyOptions(RocksMemory memory) {
        Properties own = new Properties();
        requested.forEach((name, value) -> {
            if (!isDbOption(name, value)) {
                own.setProperty(name, value);
            }
        });
        BlockBasedTableConfig table =
                new BlockBasedTableConfig()
                        .setBlockCache(memory.blockCache())
                        .setBlockSize(config.blockSize().bytes())
                        .setCacheIndexAndFilterBlocks(true)
                        .setCacheIndexAndFilterBlocksWithHighPriority(true)
                        .setPinL0FilterAndIndexBlocksInCache(true);
        if (config.bloomBits() > 0) {
            table.setFilterPolicy(new BloomFilter(config.bloomBits()));
        }
        try (ConfigOptions strict = strict()) {
            return ColumnFamilyOptions.getColumnFamilyOptionsFromProps(strict, own)
                    .setTableFormatConfig(table);
        }
    }

    /** What the OPTIONS file must say, options of tables included. */
    Map<String, String> expected() {
        Map<String, String> expected = new LinkedHashMap<>(requested);
        expected.put("block_size", Long.toString(config.blockSize().bytes()));
        expected.put("cache_index_and_filter_blocks", "true");
        expected.put("create_if_missing", "true");
        return expected;
    }

    /**
     * Refuses options that RocksDB does not know, values it cannot read, and options that Cairn
     * decides.
     */
    static void refuseUnknown(Map<String, String> options) {
        options.forEach((name, value) -> {
            KeyException.require(
                    !OURS.contains(name),
                    "options." + name,
                    "is set by Cairn and cannot be changed");
            KeyException.require(
                    isDbOption(name, value) || isColumnFamilyOption(name, value),
                    "options." + name,
                    "RocksDB knows no such option or does not accept the value \"" + value + "\"");
        });
    }

    /** Refuses options that level sizing computes, or that it does not know how to count with. */
    static void refuseSizes(Map<String, String> options) {
        for (String name : SIZES) {
            KeyException.require(
                    !options.containsKey(name),
                    "options." + name,
                    "cannot be given with level_sizing \"auto\" or \"auto-compact-safe\"");
        }
    }

    private static boolean isDbOption(String name, String value) {
        RocksDB.loadLibrary();
        try (ConfigOptions strict = strict();
                DBOptions parsed = DBOptions.getDBOptionsFromProps(strict, property(name, value))) {
            return parsed != null;
        }
    }

    private static boolean isColumnFamilyOption(String name, String value) {
        RocksDB.loadLibrary();
        try (ConfigOptions strict = strict();
                ColumnFamilyOptions parsed =
                        ColumnFamilyOptions.getColumnFamilyOptionsFromProps(
                                strict, property(name, value))) {
            return parsed != null;
        }
    }

    private static Properties property(String name, String value) {
        Properties one = new Properties();
        one.setProperty(name, value);
        return one;
    }

    private static ConfigOptions strict() {
        return new ConfigOptions().setIgnoreUnknownOptions(false).setInputStringsEscaped(false);
    }
}
