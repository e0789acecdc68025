package io.cairn.common.rocks;

import io.cairn.common.metrics.Meters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.rocksdb.AbstractNativeReference;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.DbPath;
import org.rocksdb.FlushOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * One open RocksDB database with one column family and without a write-ahead log: what is not
 * flushed is lost with the process, and the caller's own log replays it. Thread-safe; close it
 * after its last user.
 */
public final class RocksDatabase implements AutoCloseable {
    private final String name;
    private final DatabasePaths paths;
    private final RocksOptions options;
    private final List<AbstractNativeReference> owned = new ArrayList<>();
    private final RocksDB db;
    private final WriteOptions withoutLog = new WriteOptions().setDisableWAL(true);
    private final ReentrantReadWriteLock openLock = new ReentrantReadWriteLock();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Consumer<String> fatal;
    private final Meters meters;
    private boolean open = true;

    private RocksDatabase(
            String name,
            DatabasePaths paths,
            RocksOptions options,
            RocksMemory memory,
            Meters meters,
            Consumer<String> fatal)
            throws RocksDBException {
        this.name = name;
        this.paths = paths;
        this.options = options;
        this.meters = meters;
        this.fatal = fatal;
        ColumnFamilyOptions columnFamily = own(options.newColumnFamilyOptions(memory));
        DBOptions database = own(options.newDbOptions());
        database.setCreateIfMissing(true).setWriteBufferManager(memory.writeBuffers());
        if (paths.split()) {
            long fastBytes =
                    options.config().fastSize().orElseThrow().bytes() - LevelPlan.LOG_BYTES;
            database.setDbPaths(
                    List.of(
                            new DbPath(paths.tables().get(0), fastBytes),
                            new DbPath(paths.tables().get(1), Long.MAX_VALUE)));
        }
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        db =
                RocksDB.open(
                        database,
                        paths.directory().toString(),
                        List.of(
                                new ColumnFamilyDescriptor(
                                        RocksDB.DEFAULT_COLUMN_FAMILY, columnFamily)),
                        handles);
        owned.addAll(0, handles);
    }

    /**
     * Opens a database, creating it if there is none.
     *
     * @param directory its directory; its tables lie there too unless the configuration splits them
     * @param name unique in the process and the same at every start: tag of its metrics, folder on
     *     fast and slow device
     * @param fatal called from a RocksDB thread when a flush or compaction failed; the process must
     *     stop
     * @throws IOException if it cannot be opened, was written with another number of paths, or
     *     RocksDB would run with other options than requested
     */
    public static RocksDatabase open(
            Path directory,
            String name,
            RocksConfig config,
            RocksMemory memory,
            Meters meters,
            Consumer<String> fatal)
            throws IOException {
        RocksDB.loadLibrary();
        DatabasePaths paths = DatabasePaths.of(directory.toAbsolutePath(), name, config);
        paths.prepare();
        RocksOptions options = RocksOptions.resolve(config);
        RocksDatabase database;
        try {
            database = new RocksDatabase(name, paths, options, memory, meters.scope(), fatal);
        } catch (RocksDBException e) {
            throw new IOException("cannot open RocksDB " + directory + ": " + e.getMessage(), e);
        }
        List<String> different =
                EffectiveOptions.read(paths.directory()).differences(options.expected());
        if (!different.isEmpty()) {
            database.close();
            throw new IOException(
                    "RocksDB "
                            + directory
                            + " does not take its options: "
                            + String.join("; ", different));
        }
        database.publish();
        Thread.ofPlatform().daemon().name("rocksdb-watch-" + name).start(database::watch);
        return database;
    }

    /** Whether there is a database in the directory. */
    public static boolean exists(Path directory) {
        return Files.exists(directory.resolve("CURRENT"));
    }

    /**
     * Replaces the closed database of this directory and name by a checkpoint. After a crash in
     * between there is no database ({@link #exists}), and the caller restores again. The checkpoint
     * stays as it is.
     */
    public static void restore(Path checkpoint, Path directory, String name, RocksConfig config)
            throws IOException {
        RocksCheckpoint.restore(
                checkpoint, DatabasePaths.of(directory.toAbsolutePath(), name, config));
    }

    /**
     * The database itself, for reading single rows. Writes go through {@link #write}, scans through
     * {@link #rows}.
     */
    public RocksDB db() {
        return db;
    }

    /**
     * The rows whose keys begin with {@code prefix}, at or above {@code from}.
     *
     * @param snapshot the state to read, null for the present one
     * @param failure what to throw when a row cannot be read
     */
    public PrefixIterator rows(
            @Nullable Snapshot snapshot,
            byte[] prefix,
            byte[] from,
            Function<RocksDBException, RuntimeException> failure) {
        return new PrefixIterator(db, snapshot, prefix, from, failure);
    }

    /** Applies a batch atomically; it is durable after the next {@link #flush}. */
    public void write(WriteBatch batch) throws RocksDBException {
        try {
            db.write(withoutLog, batch);
        } catch (RocksDBException e) {
            throw failed("write", e);
        }
    }

    /** Returns when everything written before is durable in table files. */
    public void flush() throws RocksDBException {
        try (FlushOptions wait =
                new FlushOptions().setWaitForFlush(true).setAllowWriteStall(true)) {
            db.flush(wait);
        } catch (RocksDBException e) {
            throw failed("flush", e);
        }
    }

    /**
     * Flushes and makes a checkpoint: writes go on meanwhile, and the checkpoint holds everything
     * written before the call. One at a time.
     *
     * @param target must not exist; on the file system of the database, else its tables are copied
     *     instead of linked. With tables on two devices these are linked there ({@link
     *     TableLinks}), and the checkpoint may then be renamed, but not leave its parent
     */
    public void checkpoint(Path target) throws IOException {
        try {
            flush();
            RocksCheckpoint.create(db, paths, target.toAbsolutePath());
        } catch (RocksDBException e) {
            throw new IOException("cannot make checkpoint " + target + ": " + e.getMessage(), e);
        }
    }

    /**
     * Levels meant for the fast device of which files lie on the slow one: worth a warning. Empty
     * without a plan.
     */
    public Set<Integer> spilledLevels() {
        Set<Integer> spilled = new TreeSet<>();
        if (paths.split() && options.plan().isPresent()) {
            for (LiveFileMetaData table : slowTables()) {
                if (table.level() <= options.plan().get().levels()) {
                    spilled.add(table.level());
                }
            }
        }
        return spilled;
    }

    @Override
    public void close() {
        closing.countDown();
        meters.close();
        openLock.writeLock().lock();
        try {
            if (open) {
                open = false;
                owned.stream()
                        .filter(ColumnFamilyHandle.class::isInstance)
                        .forEach(AbstractNativeReference::close);
                db.close();
                owned.stream()
                        .filter(o -> !(o instanceof ColumnFamilyHandle))
                        .forEach(AbstractNativeReference::close);
                withoutLog.close();
            }
        } finally {
            openLock.writeLock().unlock();
        }
    }

    private List<LiveFileMetaData> slowTables() {
        String slow = paths.tables().get(1).toString();
        return db.getLiveFilesMetaData().stream().filter(t -> t.path().equals(slow)).toList();
    }

    private void publish() {
        for (RocksMeter meter : RocksMeter.values()) {
            if (!meter.property().isEmpty()) {
                meters.gauge(meter, () -> whileOpen(d -> d.longProperty(meter.property())), name);
            }
        }
        if (paths.split()) {
            meters.gauge(
                    RocksMeter.SLOW,
                    () ->
                            whileOpen(d ->
                                    d.slowTables().stream()
                                            .mapToLong(LiveFileMetaData::size)
                                            .sum()),
                    name);
            meters.gauge(
                    RocksMeter.SPILLED_LEVELS,
                    () -> whileOpen(d -> d.spilledLevels().size()),
                    name);
        }
    }

    /**
     * Metrics may be read while the database is being closed; touching it then would crash the
     * process.
     */
    private double whileOpen(ToDoubleFunction<RocksDatabase> value) {
        openLock.readLock().lock();
        try {
            return open ? value.applyAsDouble(this) : Double.NaN;
        } finally {
            openLock.readLock().unlock();
        }
    }

    private double longProperty(String property) {
        try {
            return db.getLongProperty(property);
        } catch (RocksDBException e) {
            return Double.NaN;
        }
    }

    private <T extends AbstractNativeReference> T own(T object) {
        owned.add(object);
        return object;
    }

    /**
     * Looks for failed background work once a second. RocksDB's Java event listener cannot be used:
     * it does not know the reason "flush without WAL" and drops the event.
     */
    private void watch() {
        try {
            while (!closing.await(1, TimeUnit.SECONDS)) {
                if (whileOpen(d -> d.longProperty(RocksMeter.BACKGROUND_ERRORS.property())) > 0) {
                    fatal.accept("RocksDB " + paths.directory() + ": a flush or compaction failed");
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private RocksDBException failed(String what, RocksDBException e) {
        fatal.accept("RocksDB " + paths.directory() + ": " + what + " failed: " + e.getMessage());
        return e;
    }
}
