package io.cairn.common.rocks;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Named sets of RocksDB options: the values of the Ceph RocksDB tuning study (M. Ogborn, M. Nelson
 * et al., "RocksDB Tuning Deep-Dive", ceph.io, 2022), beside RocksDB's own defaults and
 * BlueStore's.
 */
public enum RocksPreset {
    ROCKSDB(
            "compression=kSnappyCompression max_write_buffer_number=2 min_write_buffer_number_to_merge=1"
                    + " write_buffer_size=67108864 level0_file_num_compaction_trigger=4"
                    + " level0_slowdown_writes_trigger=20 level0_stop_writes_trigger=36"
                    + " max_bytes_for_level_base=268435456 max_bytes_for_level_multiplier=10"
                    + " target_file_size_base=67108864 compaction_readahead_size=0 max_background_jobs=2"),
    BLUESTORE(
            "compression=kNoCompression max_write_buffer_number=4 min_write_buffer_number_to_merge=1"
                    + " write_buffer_size=268435456 level0_file_num_compaction_trigger=4"
                    + " level0_slowdown_writes_trigger=20 level0_stop_writes_trigger=36"
                    + " max_bytes_for_level_base=268435456 max_bytes_for_level_multiplier=10"
                    + " target_file_size_base=67108864 compaction_readahead_size=2097152"
                    + " max_background_compactions=2 max_total_wal_size=1073741824"),
    ALTERNATE(
            "compression=kNoCompression max_write_buffer_number=32 min_write_buffer_number_to_merge=2"
                    + " write_buffer_size=67108864 level0_file_num_compaction_trigger=8"
                    + " level0_slowdown_writes_trigger=32 level0_stop_writes_trigger=64"
                    + " max_bytes_for_level_base=536870912 max_bytes_for_level_multiplier=8"
                    + " target_file_size_base=67108864 compaction_readahead_size=2097152"
                    + " max_background_compactions=31 max_background_flushes=8"),
    TUNED(
            "compression=kNoCompression max_write_buffer_number=128 min_write_buffer_number_to_merge=16"
                    + " write_buffer_size=8388608 level0_file_num_compaction_trigger=8"
                    + " level0_slowdown_writes_trigger=20 level0_stop_writes_trigger=36"
                    + " max_bytes_for_level_base=1073741824 max_bytes_for_level_multiplier=8"
                    + " target_file_size_base=67108864 compaction_readahead_size=2097152"
                    + " max_background_jobs=4 max_total_wal_size=1073741824"),
    TUNED_LZ4(TUNED.text.replace("kNoCompression", "kLZ4Compression"));

    /**
     * Holds for every preset: the study's sizes mean static levels, which newer RocksDB no longer
     * has as its default; our files are few, so all stay open, and RocksDB's own log files must not
     * fill the disk.
     */
    private static final String COMMON =
            " level_compaction_dynamic_level_bytes=false max_open_files=-1 keep_log_file_num=4 max_log_file_size=4194304"
                    + " info_log_level=WARN_LEVEL atomic_flush=false paranoid_checks=true";

    private final String text;

    RocksPreset(String text) {
        this.text = text;
    }

    /** The options under RocksDB's own names and in its own spelling; a new, mutable map. */
    public Map<String, String> options() {
        Map<String, String> options = new LinkedHashMap<>();
        for (String option : (text + COMMON).split(" ", -1)) {
            int equals = option.indexOf('=');
            options.put(option.substring(0, equals), option.substring(equals + 1));
        }
        return options;
    }
}
