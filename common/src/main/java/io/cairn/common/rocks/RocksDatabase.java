package io.cairn.common.rocks;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DatabaseStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.rocksdb.AbstractNativeReference;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.DbPath;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One open RocksDB database with one column family and without a write-ahead log: what is not
 * flushed is lost with the process, and the caller's own log replays it. Thread-safe; close it
 * after its last user.
 */
public final class RocksDatabase implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RocksDatabase.class);

    private final String name;
    private final DatabasePaths paths;
    private final RocksOptions options;
    private final List<AbstractNativeReference> owned = new ArrayList<>();
    private final RocksDB db;
    private final WriteOptions withoutLog = new WriteOptions().setDisableWAL(true);
    private final Consumer<String> fatal;
    private final Meters meters;
    private final MemtableBudget budget;
    private final int backgroundJobs;
    private final OpenGuard guard = new OpenGuard();
    private final DatabaseWatch watch;
    private final MemtableBudget.Memtables memtables = new OwnMemtables();

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
        this.budget = memory.budget();
        ColumnFamilyOptions columnFamily = own(options.newColumnFamilyOptions(memory));
        DBOptions database = own(options.newDbOptions());
        database.setCreateIfMissing(true).setWriteBufferManager(memory.writeBuffers());
        if (paths.split()) {
            long fastBytes = options.plan().orElseThrow().pathBytes();
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
        backgroundJobs = database.maxBackgroundJobs();
        BackgroundThreads.opened(backgroundJobs);
        watch = new DatabaseWatch(db, name, paths, options.plan(), guard);
        budget.add(memtables);
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
        return open(directory, name, RocksOptions.resolve(config), memory, meters, fatal);
    }

    static RocksDatabase open(
            Path directory,
            String name,
            RocksOptions options,
            RocksMemory memory,
            Meters meters,
            Consumer<String> fatal)
            throws IOException {
        DatabasePaths paths = DatabasePaths.of(directory.toAbsolutePath(), name, options.config());
        paths.prepare();
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
        database.begin();
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

    /**
     * Applies a batch atomically; it is durable after the next {@link #flush}. Waits while the
     * memtables of all databases of the process have what they may.
     */
    public void write(WriteBatch batch) throws RocksDBException {
        budget.admit(memtables, batch.getDataSize());
        try {
            db.write(withoutLog, batch);
        } catch (RocksDBException e) {
            throw failed("write", e);
        }
    }

    /** Returns when everything written before is durable in table files. */
    public void flush() throws RocksDBException {
        flush(true);
    }

    private void flush(boolean wait) throws RocksDBException {
        try (FlushOptions how = new FlushOptions().setWaitForFlush(wait).setAllowWriteStall(true)) {
            db.flush(how);
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

    /** Where the tables lie, as of about a second ago. */
    public List<LevelUse> levels() {
        return watch.levels();
    }

    /** What the administrator should know of where the levels lie. Never blocks. */
    public Remarks remarks() {
        return watch.remarks();
    }

    /** What an administrator is told. */
    DatabaseStatus status() {
        return watch.status();
    }

    /**
     * Begins to rewrite all tables, each to the device meant for it, in the background; nothing if
     * that is being done already. {@link #close} ends it early.
     *
     * @throws FsException ENOSPC if there is no room for it
     */
    void compact() {
        guard.whileOpen(
                () -> {
                    try {
                        flush();
                    } catch (RocksDBException e) {
                        throw new FsException(Errno.EIO, String.valueOf(e.getMessage()));
                    }
                    watch.compact();
                    return true;
                },
                false);
    }

    /** Looks where the tables lie now. */
    void measure() {
        watch.measure();
    }

    private void begin() {
        watch.begin(
                meters,
                () ->
                        fatal.accept(
                                "RocksDB %s: a flush or compaction failed (%s); see its LOG"
                                        .formatted(paths.directory(), space())));
    }

    /** The cause that an administrator looks for first. */
    private String space() {
        try {
            long free = Files.getFileStore(paths.directory()).getUsableSpace();
            return "%,d bytes are free there".formatted(free);
        } catch (IOException e) {
            return "its file system does not answer: " + e.getMessage();
        }
    }

    @Override
    public void close() {
        budget.remove(memtables);
        watch.end();
        meters.close();
        guard.close(() -> {
            owned.stream()
                    .filter(ColumnFamilyHandle.class::isInstance)
                    .forEach(AbstractNativeReference::close);
            db.close();
            owned.stream()
                    .filter(o -> !(o instanceof ColumnFamilyHandle))
                    .forEach(AbstractNativeReference::close);
            withoutLog.close();
            BackgroundThreads.closed(backgroundJobs);
        });
    }

    private <T extends AbstractNativeReference> T own(T object) {
        owned.add(object);
        return object;
    }

    private RocksDBException failed(String what, RocksDBException e) {
        fatal.accept("RocksDB " + paths.directory() + ": " + what + " failed: " + e.getMessage());
        return e;
    }

    /** Asked by writers of other databases too, also while this one is being closed. */
    private final class OwnMemtables implements MemtableBudget.Memtables {
        @Override
        public long bytes() {
            return (long) watch.property(RocksMeter.MEMTABLES.property()); // NaN becomes 0
        }

        @Override
        public boolean flushing() {
            return watch.property("rocksdb.mem-table-flush-pending")
                            + watch.property(RocksMeter.RUNNING_FLUSHES.property())
                    > 0;
        }

        @Override
        public void flush() throws RocksDBException {
            RocksDatabase.this.flush(true);
        }

        @Override
        public void startFlush() {
            guard.whileOpen(
                    () -> {
                        try {
                            RocksDatabase.this.flush(false);
                        } catch (RocksDBException e) {
                            LOG.warn("database {}: cannot begin to flush", name, e);
                        }
                        return true;
                    },
                    false);
        }
    }
}
