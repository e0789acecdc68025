package io.cairn.common.rocks;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** The {@code [rocksdb]} table: a preset, and what differs from it. */
public record RocksConfig(
        @Key(
                        value =
                                "Named set of options: `rocksdb` (its own defaults), `bluestore`, `alternate`, `tuned` and"
                                        + " `tuned-lz4` (values of the Ceph RocksDB tuning study).",
                        defaultValue = "tuned-lz4")
                RocksPreset preset,
        @Key(
                        value =
                                "How max_bytes_for_level_base is found: `fixed` takes it from the preset or this file;"
                                        + " `auto` computes it so that whole levels fill the fast device;"
                                        + " `auto-compact-safe` leaves room for a full manual compaction there.",
                        defaultValue = "fixed")
                LevelSizing levelSizing,
        @Key(
                        value =
                                "Directory on the fast device for the upper levels; needs slow_path too. Only for a new"
                                        + " database, and alike on all metadata servers.",
                        example = "/ssd/rocksdb")
                Optional<Path> fastPath,
        @Key(
                        value =
                                "How much of the fast device all databases of this part together may fill, in"
                                        + " equal shares (a data server has one for each disk, at"
                                        + " least 2560MiB each); needed with fast_path.",
                        min = "2560MiB",
                        example = "80GiB")
                Optional<ByteSize> fastSize,
        @Key(
                        value = "Directory on the slow device for the levels that do not fit.",
                        example = "/hdd/rocksdb")
                Optional<Path> slowPath,
        @Key(value = "Compression of table files; default: the preset's.", example = "lz4")
                Optional<Compression> compression,
        @Key(
                        value = "Memtables that may exist; default: the preset's.",
                        min = "2",
                        max = "1024",
                        example = "128")
                Optional<Integer> maxWriteBufferNumber,
        @Key(
                        value = "Memtables merged into one flush; default: the preset's.",
                        min = "1",
                        max = "512",
                        example = "16")
                Optional<Integer> minWriteBufferNumberToMerge,
        @Key(
                        value = "Size of one memtable; default: the preset's.",
                        min = "1MiB",
                        max = "4GiB",
                        example = "8MiB")
                Optional<ByteSize> writeBufferSize,
        @Key(
                        value = "Files in level 0 that start a compaction; default: the preset's.",
                        min = "1",
                        example = "8")
                Optional<Integer> level0FileNumCompactionTrigger,
        @Key(
                        value = "Files in level 0 that slow writers down; default: the preset's.",
                        min = "1",
                        example = "20")
                Optional<Integer> level0SlowdownWritesTrigger,
        @Key(
                        value = "Files in level 0 that stop writers; default: the preset's.",
                        min = "1",
                        example = "36")
                Optional<Integer> level0StopWritesTrigger,
        @Key(value = "Size of level 1; default: the preset's.", min = "1MiB", example = "1GiB")
                Optional<ByteSize> maxBytesForLevelBase,
        @Key(
                        value = "How much larger each level is; default: the preset's.",
                        min = "2",
                        max = "100",
                        example = "8")
                Optional<Integer> maxBytesForLevelMultiplier,
        @Key(
                        value = "Size of table files in level 1; default: the preset's.",
                        min = "1MiB",
                        example = "64MiB")
                Optional<ByteSize> targetFileSizeBase,
        @Key(
                        value = "Read-ahead of compactions; default: the preset's.",
                        max = "1GiB",
                        example = "2MiB")
                Optional<ByteSize> compactionReadaheadSize,
        @Key(
                        value = "Concurrent flushes and compactions; default: the preset's.",
                        min = "1",
                        max = "256",
                        example = "4")
                Optional<Integer> maxBackgroundJobs,
        @Key(
                        value = "Size of a block, the unit of reading and caching.",
                        defaultValue = "4KiB",
                        min = "1KiB",
                        max = "1MiB")
                ByteSize blockSize,
        @Key(
                        value = "Bits per key of the Bloom filters; 0: no filters.",
                        defaultValue = "10",
                        min = "0",
                        max = "64")
                int bloomBits,
        @Key(
                        "Any other RocksDB option under its own name and in its own spelling. Unknown ones are refused, and"
                                + " so is a value that RocksDB does not take as it is.")
                Map<String, String> options) {

    public RocksConfig {
        options = Map.copyOf(options);
        KeyException.require(
                fastPath.isPresent() == slowPath.isPresent(),
                "fast_path",
                "must be given together with slow_path");
        KeyException.require(
                fastPath.isPresent() == fastSize.isPresent(),
                "fast_size",
                "must be given together with fast_path");
        KeyException.require(
                fastPath.isEmpty() || !fastPath.equals(slowPath),
                "slow_path",
                "must differ from fast_path");
        KeyException.require(
                levelSizing == LevelSizing.FIXED || fastPath.isPresent(),
                "level_sizing",
                "\"auto\" and \"auto-compact-safe\" need fast_path, fast_size and slow_path");
        KeyException.require(
                levelSizing == LevelSizing.FIXED || maxBytesForLevelBase.isEmpty(),
                "max_bytes_for_level_base",
                "is computed by level_sizing; give one of the two");
        if (levelSizing != LevelSizing.FIXED) {
            RocksOptions.refuseSizes(options);
        }
        if (!options.isEmpty()) {
            RocksOptions.refuseUnknown(options);
        }
    }

    /**
     * What each of several databases with this configuration is opened with: the fast device is one
     * for all of them.
     *
     * @throws KeyException naming fast_size if a share is too small for a level
     */
    public RocksConfig sharedBy(int databases) {
        if (fastSize.isEmpty() || databases <= 1) {
            return this;
        }
        long share = fastSize.get().bytes() / databases;
        KeyException.require(
                share >= LevelPlan.MIN_FAST_BYTES,
                "fast_size",
                "is shared by %d databases, each of which needs at least %s: give it %s or more"
                        .formatted(
                                databases,
                                new ByteSize(LevelPlan.MIN_FAST_BYTES),
                                new ByteSize(LevelPlan.MIN_FAST_BYTES * databases)));
        return new RocksConfig(
                preset,
                levelSizing,
                fastPath,
                Optional.of(new ByteSize(share)),
                slowPath,
                compression,
                maxWriteBufferNumber,
                minWriteBufferNumberToMerge,
                writeBufferSize,
                level0FileNumCompactionTrigger,
                level0SlowdownWritesTrigger,
                level0StopWritesTrigger,
                maxBytesForLevelBase,
                maxBytesForLevelMultiplier,
                targetFileSizeBase,
                compactionReadaheadSize,
                maxBackgroundJobs,
                blockSize,
                bloomBits,
                options);
    }

    /** The default configuration: what an empty table gives. */
    public static RocksConfig defaults() {
        return Config.parse("defaults", "", RocksConfig.class);
    }
}
