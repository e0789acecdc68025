package io.cairn.common.rocks;

import io.cairn.common.config.ByteSize;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CompactionStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.CompactRangeOptions.BottommostLevelCompaction;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One full manual compaction: every table is rewritten, into the last level that has any, on the
 * device planned for that level. RocksDB's own compactions leave tables on the device they were
 * written to, whatever its size has become; and its manual one writes all to the first device
 * unless told.
 *
 * <p>Made and run by a thread of its own; {@link #status} and {@link #cancel} by any. Ends early
 * rather than filling the device.
 */
final class Compaction {
    private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

    /** Free space of the device below which it stops, where the database is large. */
    private static final long RESERVE_BYTES = 1L << 30;

    private final RocksDB db;
    private final String database;
    private final Path target;
    private final Map<String, Long> before = new HashMap<>();
    private final long totalBytes;
    private final long neededBytes;
    private final CompactRangeOptions how = new CompactRangeOptions();
    private boolean ended;
    private String error = "";
    private String stopped = "";

    /**
     * Looks what there is to do.
     *
     * @throws FsException ENOSPC if it does not fit beside what is there
     */
    Compaction(RocksDB db, String database, DatabasePaths paths, Optional<LevelPlan> plan) {
        this.db = db;
        this.database = database;
        List<LiveFileMetaData> tables = db.getLiveFilesMetaData();
        int last = Math.max(1, tables.stream().mapToInt(LiveFileMetaData::level).max().orElse(1));
        int device = plan.map(p -> p.isFast(last) ? 0 : 1).orElse(0);
        target = paths.tables().get(device);
        Map<Integer, Long> levels = new HashMap<>();
        for (LiveFileMetaData table : tables) {
            before.put(table.fileName(), table.size());
            levels.merge(table.level(), table.size(), Long::sum);
        }
        totalBytes = levels.values().stream().mapToLong(Long::longValue).sum();
        // As auto-compact-safe counts: the first and the last level a second time.
        long largest = levels.values().stream().mapToLong(Long::longValue).max().orElse(0);
        neededBytes =
                Math.min(
                        totalBytes,
                        largest + levels.getOrDefault(0, 0L) + levels.getOrDefault(1, 0L));
        long free = freeBytes();
        if (free < neededBytes) {
            how.close();
            throw new FsException(
                    Errno.ENOSPC,
                    "compacting database %s takes %s in %s, which has %s free"
                            .formatted(
                                    database,
                                    ByteSize.text(neededBytes),
                                    target,
                                    ByteSize.text(free)));
        }
        // kForceOptimized leaves tables of the last level where they are, on the wrong device too.
        how.setBottommostLevelCompaction(BottommostLevelCompaction.kForce);
        how.setTargetPathId(device);
        how.setExclusiveManualCompaction(false); // else level 0 fills and stops the writers
    }

    /** Blocks until it is done, cancelled or failed. */
    void run() {
        LOG.info("compacting database {}: {} bytes to {}", database, totalBytes, target);
        String problem = "";
        try {
            db.compactRange(db.getDefaultColumnFamily(), null, null, how);
        } catch (RocksDBException e) {
            problem = String.valueOf(e.getMessage());
        }
        synchronized (this) {
            ended = true;
            error = stopped.isEmpty() ? problem : stopped;
            how.close();
        }
        LOG.info("compacting database {} ended {}", database, error.isEmpty() ? "well" : error);
    }

    /** It ends soon, with this as its error. */
    synchronized void cancel(String why) {
        if (!ended) {
            stopped = why;
            how.setCanceled(true);
        }
    }

    /** Ends it where the device is about to be full; called now and then while it runs. */
    void guard() {
        try {
            if (!ended() && freeBytes() < Math.min(RESERVE_BYTES, neededBytes / 4)) {
                cancel("stopped: %s is nearly full; what was done so far stays".formatted(target));
            }
        } catch (FsException e) {
            cancel("stopped: " + e.getMessage());
        }
    }

    synchronized boolean ended() {
        return ended;
    }

    synchronized CompactionStatus status() {
        long left = ended && error.isEmpty() ? 0 : bytesLeft();
        return CompactionStatus.newBuilder()
                .setRunning(!ended)
                .setTotalBytes(totalBytes)
                .setDoneBytes(totalBytes - left)
                .setError(error)
                .build();
    }

    /** Of tables that were there when it began. */
    private long bytesLeft() {
        return db.getLiveFilesMetaData().stream()
                .mapToLong(table -> before.getOrDefault(table.fileName(), 0L))
                .sum();
    }

    private long freeBytes() {
        try {
            return Files.getFileStore(target).getUsableSpace();
        } catch (IOException e) {
            throw new FsException(Errno.EIO, target + ": " + e.getMessage());
        }
    }
}
