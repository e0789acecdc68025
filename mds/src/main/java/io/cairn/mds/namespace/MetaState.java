package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.Remarks;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.raft.ReplicatedState;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.Counters;
import io.cairn.mds.store.EntryWatcher;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStateConfig;
import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.StateDirectory;
import io.cairn.mds.store.StateListener;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The state that the Raft log replicates: namespace, sessions, deletion queue and cluster map, in
 * one RocksDB. One thread applies entries; any thread reads meanwhile. A failure of RocksDB, or
 * state that contradicts itself, is a {@link CorruptStateException}: the process must stop, and
 * starts again from what was flushed.
 */
public final class MetaState implements ReplicatedState, NamespaceReader, ControlReader {
    private final StateDirectory directory;
    private final MetaStateConfig config;
    private final List<StateListener> listeners = new CopyOnWriteArrayList<>();
    private final Object applying = new Object();
    private volatile EntryWatcher watcher = EntryWatcher.NONE;
    private volatile MetaStore store;
    private final ReentrantReadWriteLock life = new ReentrantReadWriteLock();
    private boolean closed;

    private MetaState(StateDirectory directory, MetaStateConfig config) throws IOException {
        this.directory = directory;
        this.config = config;
        this.store = MetaStore.open(directory.recover(), config);
    }

    /** Opens what the directory holds, or starts with nothing. */
    public static MetaState open(Path root, MetaStateConfig config) throws IOException {
        return new MetaState(new StateDirectory(root, config.rocks()), config);
    }

    // ---- the log ------------------------------------------------------------

    @Override
    public ByteString apply(long term, long index, ByteString bytes) {
        synchronized (applying) {
            if (index <= store.position().index()) {
                return ApplyReply.newBuilder()
                        .setErrno(Errno.EAGAIN.number())
                        .setDetail("entry " + index + " was applied before")
                        .build()
                        .toByteString();
            }
            LogEntry entry = parse(index, bytes);
            MetaStore store = open();
            StateTx tx =
                    new StateTx(
                            store,
                            new Time(entry.getTime().getSeconds(), entry.getTime().getNanos()));
            if (watcher.wantsReads()) {
                tx.noteReads();
            }
            ApplyReply.Builder reply = execute(tx, entry);
            watcher.showing(index, entry.getMutate().getSession(), tx);
            store.commit(tx, term, index);
            watcher.shown(index);
            for (Consumer<StateListener> event : tx.events()) {
                listeners.forEach(event);
            }
            return reply.setMapEpoch(tx.map.epoch()).setIndex(index).build().toByteString();
        }
    }

    /** One of a newer version is readable too: it is told from damage when it is applied. */
    @Override
    public boolean readable(ByteString bytes) {
        try {
            LogEntry entry = LogEntry.parseFrom(bytes);
            return entry.getEntryCase() != LogEntry.EntryCase.ENTRY_NOT_SET
                    || !entry.getUnknownFields().isEmpty();
        } catch (InvalidProtocolBufferException e) {
            return false;
        }
    }

    /** What this version does not know another one would execute: then nothing is applied. */
    private static LogEntry parse(long index, ByteString bytes) {
        try {
            @Nullable LogEntry plain =
                    Features.plain(LogEntry.parser(), bytes.asReadOnlyByteBuffer());
            if (plain != null && !plain.hasFormat() && !plain.hasMapChange()) {
                return plain; // no field of the others is an enum, whose values may be new
            }
            LogEntry entry = LogEntry.parseFrom(bytes);
            @Nullable String unknown = Features.unknown(entry);
            if (unknown != null) {
                throw new CorruptStateException(
                        "entry %d of the log has %s, which this version of Cairn (feature level %d) does not know: upgrade this member"
                                .formatted(index, unknown, Features.CURRENT));
            }
            return entry;
        } catch (InvalidProtocolBufferException e) {
            throw new CorruptStateException("entry " + index + " of the log is damaged", e);
        }
    }

    /** Refusals come before any change, so that what is committed then is the position alone. */
    private static ApplyReply.Builder execute(StateTx tx, LogEntry entry) {
        try {
            if (tx.map.epoch() == 0 && !entry.hasFormat()) {
                throw new FsException(Errno.EAGAIN, "the cluster is not formatted yet");
            }
            return switch (entry.getEntryCase()) {
                case FORMAT -> MapEntries.format(tx, entry.getFormat());
                case OPEN_SESSION -> Sessions.open(tx, entry.getOpenSession());
                case CLOSE_SESSION -> Sessions.close(tx, entry.getCloseSession());
                case EVICT_SESSION -> Sessions.evict(tx, entry.getEvictSession());
                case RELEASE_SESSION -> Sessions.release(tx, entry.getReleaseSession());
                case MUTATE -> MutationBatch.apply(tx, entry.getMutate());
                case MAP_CHANGE -> MapEntries.change(tx, entry.getMapChange());
                case REAPED -> {
                    DeletionQueue.reaped(tx, entry.getReaped());
                    DeletionQueue.reapedLeft(tx, entry.getReaped().getLeftList());
                    DeletionQueue.reapedUnused(tx, entry.getReaped().getUnusedIdsList());
                    yield ApplyReply.newBuilder();
                }
                case TRUNCATED -> {
                    Truncations.applied(
                            tx,
                            entry.getTruncated().getInode(),
                            entry.getTruncated().getSequence());
                    yield ApplyReply.newBuilder();
                }
                case MOVE_ENDED -> {
                    Moves.ended(
                            tx, entry.getMoveEnded().getInode(), entry.getMoveEnded().getFence());
                    yield ApplyReply.newBuilder();
                }
                case FREE_INODES -> Links.free(tx, entry.getFreeInodes());
                case SETTINGS -> Settings.change(tx, entry.getSettings());
                case ORPHANS_FOUND -> OrphanedData.found(tx, entry.getOrphansFound());
                case ORPHANS_CHANGED -> OrphanedData.changed(tx, entry.getOrphansChanged());
                case ENTRY_NOT_SET -> throw new CorruptStateException("the log has an empty entry");
            };
        } catch (FsException e) {
            return ApplyReply.newBuilder()
                    .setErrno(e.errno().number())
                    .setDetail(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public void skip(long term, long index) {
        synchronized (applying) {
            if (index > store.position().index()) {
                open().commit(new StateTx(store, Time.EPOCH), term, index);
            }
        }
    }

    @Override
    public long appliedIndex() {
        return store.position().index();
    }

    @Override
    public long appliedTerm() {
        return store.position().term();
    }

    @Override
    public void flush() {
        life.readLock().lock();
        try {
            open().database().flush();
        } finally {
            life.readLock().unlock();
        }
    }

    /** Entries go on being applied: the copy may hold some beyond the position returned. */
    @Override
    public Position checkpoint(Path to) throws IOException {
        life.readLock().lock();
        try {
            Position position = open().position();
            store.database().checkpoint(to);
            return position;
        } finally {
            life.readLock().unlock();
        }
    }

    @Override
    public void restore(Path checkpoint) throws IOException {
        synchronized (applying) {
            directory.receive(checkpoint);
            life.writeLock().lock();
            try {
                open().close();
                store = MetaStore.open(directory.promote(), config);
                @Nullable String objection =
                        Features.objection(store.settings(), "the leader's checkpoint");
                if (objection != null) {
                    throw new IOException(objection);
                }
            } finally {
                life.writeLock().unlock();
            }
            listeners.forEach(StateListener::restored);
        }
    }

    /** Flushes first, so that the next start has little to replay. */
    @Override
    public void close() {
        synchronized (applying) {
            life.writeLock().lock();
            try {
                if (!closed) {
                    closed = true;
                    store.database().flush();
                    store.close();
                }
            } finally {
                life.writeLock().unlock();
            }
        }
    }

    // ---- reading ------------------------------------------------------------

    /** Holding the life lock or, as the applying thread, {@code applying}. */
    private MetaStore open() {
        if (closed) {
            throw new FsException(Errno.EIO, "the metadata is closed");
        }
        return store;
    }

    /** Keeps the store open while it is read. */
    private <T extends @Nullable Object> T read(Function<MetaStore, T> reads) {
        life.readLock().lock();
        try {
            return reads.apply(open());
        } finally {
            life.readLock().unlock();
        }
    }

    @Override
    public Attr lookup(long parent, ByteString name) {
        return read(s -> new MetaReader(s).lookup(parent, name));
    }

    @Override
    public @Nullable Attr find(long parent, ByteString name) {
        return read(s -> new MetaReader(s).lookupIfAny(parent, name));
    }

    @Override
    public Attr getAttr(long inode) {
        return read(s -> new MetaReader(s).getAttr(inode));
    }

    @Override
    public ReadDirReply readDir(long inode, long cursor, int maxBytes, boolean withAttributes) {
        return read(s -> new MetaReader(s).readDir(inode, cursor, maxBytes, withAttributes));
    }

    @Override
    public ByteString readLink(long inode) {
        return read(s -> new MetaReader(s).readLink(inode));
    }

    @Override
    public ByteString getXattr(long inode, ByteString name) {
        return read(s -> new MetaReader(s).getXattr(inode, name));
    }

    @Override
    public List<ByteString> listXattr(long inode) {
        return read(s -> new MetaReader(s).listXattr(inode));
    }

    @Override
    public Counters counters() {
        return store.counters();
    }

    /** What the administrator should know of the database. Never blocks. */
    public Remarks databaseRemarks() {
        return store.database().rocks().remarks();
    }

    /** The one there is at the moment: another takes its place with a checkpoint. */
    public List<RocksDatabase> databases() {
        return List.of(store.database().rocks());
    }

    @Override
    public boolean isFormatted() {
        return store.map().epoch() > 0;
    }

    @Override
    public ByteString clusterId() {
        return store.map().clusterId();
    }

    @Override
    public ClusterMap map() {
        return store.map();
    }

    @Override
    public long poolUsers(int pool) {
        return read(s -> PoolUsers.count(s.get(PoolUsers.key(pool))));
    }

    @Override
    public ClusterSettings settings() {
        return store.settings();
    }

    @Override
    public List<SessionRecord> sessions() {
        return store.sessions();
    }

    @Override
    public @Nullable SessionRecord session(long session) {
        return store.session(session);
    }

    @Override
    public int openCount(long session, long inode) {
        return read(s -> new MetaReader(s).openCount(session, inode));
    }

    @Override
    public boolean isUnused(long inode) {
        return read(s -> new MetaReader(s).isUnused(inode));
    }

    @Override
    public long appender(long inode) {
        return read(s -> new MetaReader(s).appender(inode));
    }

    @Override
    public List<FileLock> locks(long inode) {
        return read(s -> new MetaReader(s).locks(inode));
    }

    @Override
    public List<FileLock> locksAfter(long inode, int maxFiles) {
        return read(s -> new MetaReader(s).locksAfter(inode, maxFiles));
    }

    @Override
    public long maxInode() {
        return store.counters().maxInode();
    }

    @Override
    public long maxSession() {
        return store.counters().maxSession();
    }

    @Override
    public List<DeletionRecord> deletions(long afterSequence, int max) {
        return read(s -> new MetaReader(s).deletions(afterSequence, max));
    }

    @Override
    public @Nullable Attr attr(long inode) {
        return read(s -> new MetaReader(s).attr(inode));
    }

    @Override
    public List<Attr> pendingTruncations(long afterInode, int max) {
        return read(s -> new MetaReader(s).pendingTruncations(afterInode, max));
    }

    @Override
    public List<Attr> moves(long afterInode, int max) {
        return read(s -> new MetaReader(s).moves(afterInode, max));
    }

    @Override
    public List<Long> orphans(long afterInode, int max) {
        return read(s -> new MetaReader(s).ids(MetaKeys.ORPHAN, afterInode, max));
    }

    @Override
    public List<Integer> orphansAmong(int pool, List<Long> inodes) {
        return read(s -> new MetaReader(s).orphansAmong(pool, inodes));
    }

    @Override
    public List<OrphanedInode> orphanedData(int afterPool, long afterInode, int max) {
        return read(s -> new MetaReader(s).orphanedData(afterPool, afterInode, max));
    }

    @Override
    public @Nullable OrphanedInode orphanedInode(int pool, long inode) {
        return read(s -> new MetaReader(s).orphanedInode(pool, inode));
    }

    @Override
    public Map<Integer, OrphanLookRecord> orphanLooks() {
        return read(s -> new MetaReader(s).orphanLooks());
    }

    @Override
    public void addListener(StateListener listener) {
        listeners.add(listener);
    }

    /** Before the first entry is applied. */
    public void watch(EntryWatcher entries) {
        watcher = entries;
    }
}
