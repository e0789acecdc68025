package io.cairn.mds.raft;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.SnapshotRetentionPolicy;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The checkpoints of the state. The newest one is kept for a member whose next entry is no longer
 * in the log; an older one is kept while it is being sent to a member.
 *
 * <p>Ratis replaces the whole snapshot directory when it has received a checkpoint, without fsync.
 * So nothing that this member itself depends on lives there: its state is in RocksDB elsewhere. A
 * received checkpoint is fsynced and restored ({@link #received}) while it is still in {@code
 * incoming}, before Ratis touches the log.
 *
 * <p>Changed by the thread that applies entries, and by the thread that installs a checkpoint while
 * nothing is applied; read by any thread.
 */
final class CheckpointStore implements StateMachineStorage {
    private static final Logger LOG = LoggerFactory.getLogger(CheckpointStore.class);
    private static final String UNFINISHED = "unfinished";

    /** What Ratis names the directory of an attempt to send a checkpoint, before its id. */
    private static final String ATTEMPT = "snapshot-";

    /**
     * So long a member that is being sent the newest checkpoint holds up the next one, with which
     * the log entries it needs afterwards would go; longer as long as it makes progress.
     */
    private static final Duration ANY_TRANSFER = Duration.ofMinutes(30);

    private final Path directory;
    private final Path incoming;
    private final NanoClock clock;
    private final Queue<KeptCheckpoint> replaced = new ConcurrentLinkedQueue<>();
    private final Object dropping = new Object();
    private volatile @Nullable KeptCheckpoint latest;

    CheckpointStore(Path directory, Path incoming, NanoClock clock) {
        this.directory = directory;
        this.incoming = incoming;
        this.clock = clock;
    }

    /** Drops what is left of an earlier run and makes a checkpoint of what the state holds now. */
    void open(ReplicatedState state) throws IOException {
        FileTree.delete(incoming);
        Files.createDirectories(incoming);
        reopen(state);
    }

    /**
     * After a checkpoint was installed: knows what Ratis has put in the directory. Leaves incoming
     * alone, where the next attempt may have begun.
     */
    void reopen(ReplicatedState state) throws IOException {
        dropReplaced();
        Files.createDirectories(directory);
        Path present = directory.resolve(name(state.appliedTerm(), state.appliedIndex()));
        synchronized (dropping) {
            replaced.clear();
            for (Path child : FileTree.children(directory)) {
                if (!child.equals(present) || !CheckpointManifest.complete(child)) {
                    FileTree.delete(child);
                }
            }
        }
        if (state.appliedIndex() == 0) {
            return;
        }
        if (Files.isDirectory(present)) {
            latest =
                    KeptCheckpoint.of(
                            new Position(state.appliedTerm(), state.appliedIndex()),
                            present,
                            clock);
        } else {
            take(state);
        }
    }

    /** Makes a checkpoint, durable when this returns; the one before goes when it is not in use. */
    Position take(ReplicatedState state) throws IOException {
        Files.createDirectories(directory);
        Path unfinished = directory.resolve(UNFINISHED);
        FileTree.delete(unfinished);
        Position position = state.checkpoint(unfinished);
        Path target = directory.resolve(name(position.term(), position.index()));
        if (Files.isDirectory(target)) {
            FileTree.delete(unfinished);
            return position;
        }
        @Nullable KeptCheckpoint before = latest;
        CheckpointManifest.write(unfinished);
        Files.move(unfinished, target);
        Durable.sync(directory);
        latest = KeptCheckpoint.of(position, target, clock);
        if (before != null && !before.directory().equals(target)) {
            replaced.add(before);
        }
        return position;
    }

    /** Whether the next checkpoint should wait for a member that is being sent the newest one. */
    boolean beingSent() {
        @Nullable KeptCheckpoint newest = latest;
        return newest != null && newest.inUseWithProgress(ANY_TRANSFER);
    }

    /** Deletes the checkpoints before the newest that are not in use; to be called now and then. */
    void dropUnused() throws IOException {
        synchronized (dropping) {
            for (KeptCheckpoint old : replaced) {
                if (!old.inUse()) {
                    FileTree.delete(old.directory());
                    replaced.remove(old);
                }
            }
        }
    }

    /**
     * The leader has begun to send a checkpoint: what earlier attempts have left is of no use any
     * more. Not while one is being installed.
     *
     * @param id Ratis's, of the attempt
     */
    void attemptBegun(String id) {
        try {
            for (Path attempt : FileTree.children(incoming)) {
                if (!attempt.getFileName().toString().equals(ATTEMPT + id)) {
                    LOG.info("dropping {}, part of a checkpoint never sent in full", attempt);
                    FileTree.delete(attempt);
                }
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.warn("parts of checkpoints never sent in full stay in {}", incoming, e);
        }
    }

    /** The checkpoint another member has just sent in full, fsynced; null if there is none. */
    @Nullable Path received() throws IOException {
        List<Path> complete = new ArrayList<>();
        for (Path attempt : FileTree.children(incoming)) {
            for (Path checkpoint : FileTree.children(attempt)) {
                dropDigests(checkpoint);
                if (CheckpointManifest.complete(checkpoint)) {
                    complete.add(checkpoint);
                }
            }
        }
        if (complete.isEmpty()) {
            return null;
        }
        complete.sort((a, b) -> Long.compare(index(a), index(b)));
        Path newest = complete.getLast();
        Durable.syncTree(newest);
        return newest;
    }

    /**
     * The state is what was received, which Ratis has yet to put in its place: when this member is
     * asked for its vote, it is to know already how far it is.
     */
    void restored(Position position) {
        latest =
                new KeptCheckpoint(
                        TermIndex.valueOf(position.term(), position.index()),
                        directory.resolve(name(position.term(), position.index())),
                        List.of(),
                        clock);
    }

    @Override
    public void init(RaftStorage storage) {}

    @Override
    public @Nullable SnapshotInfo getLatestSnapshot() {
        return latest;
    }

    @Override
    public void format() {}

    @Override
    public void cleanupOldSnapshots(SnapshotRetentionPolicy policy) {
        // take() and dropUnused() do
    }

    @Override
    public File getSnapshotDir() {
        return directory.toFile();
    }

    @Override
    public File getTmpDir() {
        return incoming.toFile();
    }

    /** Ratis moves the old directory aside under a longer name and may die before deleting it. */
    private void dropReplaced() throws IOException {
        Path parent = directory.getParent();
        if (parent == null) {
            return;
        }
        String prefix = directory.getFileName() + ".tmp";
        for (Path sibling : FileTree.children(parent)) {
            if (sibling.getFileName().toString().startsWith(prefix)) {
                LOG.info("dropping {}, left over from an installed checkpoint", sibling);
                FileTree.delete(sibling);
            }
        }
    }

    /** Ratis leaves its MD5 beside each file it received and has checked. */
    private static void dropDigests(Path checkpoint) throws IOException {
        for (Path file : FileTree.files(checkpoint)) {
            if (file.getFileName().toString().endsWith(".md5")) {
                Files.delete(file);
            }
        }
    }

    private static String name(long term, long index) {
        return term + "-" + index;
    }

    /** Index of the last entry that a checkpoint claims to hold. */
    static long index(Path checkpoint) {
        String name = checkpoint.getFileName().toString();
        return Long.parseLong(name.substring(name.indexOf('-') + 1));
    }
}
