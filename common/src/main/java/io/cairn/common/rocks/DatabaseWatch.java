package io.cairn.common.rocks;

import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.LevelStatus;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * What is to be known of an open database from outside: its metrics, where its tables lie, whether
 * something failed, and how its compaction goes. A thread looks once a second; any other asks.
 */
final class DatabaseWatch {
    /** RocksDB's {@code num_levels}. */
    private static final int LEVELS = 7;

    private final RocksDB db;
    private final String name;
    private final DatabasePaths paths;
    private final Optional<LevelPlan> plan;
    private final OpenGuard guard;
    private final CountDownLatch closing = new CountDownLatch(1);
    private volatile @Nullable Compaction compaction;

    /** As of the last look. */
    private volatile List<LevelUse> levels = List.of();

    DatabaseWatch(
            RocksDB db,
            String name,
            DatabasePaths paths,
            Optional<LevelPlan> plan,
            OpenGuard guard) {
        this.db = db;
        this.name = name;
        this.paths = paths;
        this.plan = plan;
        this.guard = guard;
    }

    /**
     * @param failed called once, by the watching thread, when a flush or compaction failed
     */
    void begin(Meters meters, Runnable failed) {
        measure();
        publish(meters);
        Thread.ofPlatform().daemon().name("rocksdb-watch-" + name).start(() -> watch(failed));
    }

    /** Ends the watching thread and what compaction there is. */
    void end() {
        closing.countDown();
        @Nullable Compaction running = compaction;
        if (running != null) {
            running.cancel("stopped: the database is being closed");
        }
    }

    List<LevelUse> levels() {
        return levels;
    }

    Remarks remarks() {
        return plan.map(p -> LevelUse.remarks(name, p, levels)).orElse(Remarks.NONE);
    }

    /** Looks where the tables lie now. */
    void measure() {
        levels = whileOpen(() -> LevelUse.of(db.getLiveFilesMetaData(), paths), List.of());
    }

    DatabaseStatus status() {
        measure();
        Remarks remarks = remarks();
        DatabaseStatus.Builder status =
                DatabaseStatus.newBuilder()
                        .setName(name)
                        .setTwoDevices(paths.split())
                        .setFastLevels(plan.map(LevelPlan::levels).orElse(0))
                        .addAllWarnings(remarks.warnings())
                        .addAllNotes(remarks.notes());
        for (LevelUse use : levels) {
            status.addLevels(
                    LevelStatus.newBuilder()
                            .setLevel(use.level())
                            .setFastBytes(use.fastBytes())
                            .setSlowBytes(use.slowBytes())
                            .setTables(use.tables()));
        }
        @Nullable Compaction last = compaction;
        if (last != null) {
            whileOpen(() -> status.setCompaction(last.status()), status);
        }
        return status.build();
    }

    /**
     * Begins a full compaction in a thread of its own, unless one is running.
     *
     * @throws io.cairn.common.errno.FsException ENOSPC if there is no room for it
     */
    synchronized void compact() {
        @Nullable Compaction last = compaction;
        if (last != null && !last.ended()) {
            return;
        }
        whileOpen(
                () -> {
                    Compaction next = new Compaction(db, name, paths, plan);
                    compaction = next;
                    return Thread.ofPlatform()
                            .daemon()
                            .name("rocksdb-compact-" + name)
                            .start(() -> run(next));
                },
                Thread.currentThread());
    }

    private void run(Compaction next) {
        boolean ran =
                whileOpen(
                        () -> {
                            next.run();
                            return true;
                        },
                        false);
        if (ran) {
            measure();
        }
    }

    private void publish(Meters meters) {
        for (RocksMeter meter : RocksMeter.values()) {
            if (!meter.property().isEmpty()) {
                meters.gauge(meter, () -> property(meter.property()), name);
            }
        }
        for (int level = 0; level < LEVELS; level++) {
            int l = level;
            String tag = Integer.toString(l);
            meters.gauge(RocksMeter.LEVEL, () -> sum(l, LevelUse::fastBytes), name, tag, "fast");
            if (paths.split()) {
                meters.gauge(
                        RocksMeter.LEVEL, () -> sum(l, LevelUse::slowBytes), name, tag, "slow");
            }
        }
        if (paths.split()) {
            meters.gauge(
                    RocksMeter.SLOW,
                    () -> levels.stream().mapToLong(LevelUse::slowBytes).sum(),
                    name);
            meters.gauge(
                    RocksMeter.SPILLED_LEVELS,
                    () -> levels.stream().filter(use -> use.slowBytes() > 0).count(),
                    name);
        }
    }

    private double sum(int level, ToLongFunction<LevelUse> bytes) {
        return levels.stream().filter(use -> use.level() == level).mapToLong(bytes).sum();
    }

    /** One of RocksDB's numbers; NaN if there is none, as of a closed database. */
    double property(String property) {
        return whileOpen(
                () -> {
                    try {
                        return (double) db.getLongProperty(property);
                    } catch (RocksDBException e) {
                        return Double.NaN;
                    }
                },
                Double.NaN);
    }

    /**
     * RocksDB's Java event listener cannot be used to learn of failed background work: it does not
     * know the reason "flush without WAL" and drops the event.
     */
    private void watch(Runnable failed) {
        try {
            while (!closing.await(1, TimeUnit.SECONDS)) {
                if (property(RocksMeter.BACKGROUND_ERRORS.property()) > 0) {
                    failed.run();
                    return;
                }
                measure();
                @Nullable Compaction running = compaction;
                if (running != null) {
                    running.guard();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private <T> T whileOpen(Supplier<T> value, T closed) {
        return guard.whileOpen(value, closed);
    }
}
