package io.cairn.mds.raft;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.SnapshotRetentionPolicy;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.impl.FileListSnapshotInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The newest checkpoint of the state, kept to be sent to a member whose next entry is no longer in
 * the log.
 *
 * <p>Ratis replaces the whole snapshot directory when it has received one, and does so without
 * fsync; so nothing this member itself depends on lives there: its state is in RocksDB elsewhere,
 * and what was received is fsynced and restored ({@link #received}) while it still lies in {@code
 * incoming}, before Ratis touches the log.
 *
 * <p>Changed by the thread that applies entries and, while that one is held off, by the one that
 * installs a snapshot; {@link #getLatestSnapshot} by any.
 */
final class CheckpointStore implements StateMachineStorage {
    private static final Logger LOG = LoggerFactory.getLogger(CheckpointStore.class);
    private static final String UNFINISHED = "unfinished";

    private final Path directory;
    private final Path incoming;
    private volatile @Nullable SnapshotInfo latest;

    CheckpointStore(Path directory, Path incoming) {
        this.directory = directory;
        this.incoming = incoming;
    }

    /** Drops what is left of an earlier run and makes a checkpoint of what the state holds now. */
    void open(ReplicatedState state) throws IOException {
        FileTree.delete(incoming);
        Files.createDirectories(incoming);
        dropReplaced();
        Files.createDirectories(directory);
        Path present = directory.resolve(name(state.appliedTerm(), state.appliedIndex()));
        dropAllBut(present);
        if (state.appliedIndex() == 0) {
            return;
        }
        if (Files.isDirectory(present)) {
            publish(new Position(state.appliedTerm(), state.appliedIndex()), present);
        } else {
            take(state);
        }
    }

    /** Makes a checkpoint, durable when this returns, and drops the one before. */
    Position take(ReplicatedState state) throws IOException {
        Files.createDirectories(directory);
        Path unfinished = directory.resolve(UNFINISHED);
        FileTree.delete(unfinished);
        Position position = state.checkpoint(unfinished);
        Path target = directory.resolve(name(position.term(), position.index()));
        if (Files.isDirectory(target)) {
            FileTree.delete(unfinished);
        } else {
            Durable.sync(unfinished);
            Files.move(unfinished, target);
            Durable.sync(directory);
        }
        publish(position, target);
        dropAllBut(target);
        return position;
    }

    /** The checkpoint another member has just sent in full, fsynced; null if there is none. */
    @Nullable Path received() throws IOException {
        List<Path> complete = new ArrayList<>();
        for (Path attempt : children(incoming)) {
            for (Path checkpoint : children(attempt)) {
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
        // take() keeps one
    }

    @Override
    public File getSnapshotDir() {
        return directory.toFile();
    }

    @Override
    public File getTmpDir() {
        return incoming.toFile();
    }

    private void publish(Position position, Path checkpoint) throws IOException {
        if (!Files.exists(checkpoint.resolve(CheckpointManifest.NAME))) {
            CheckpointManifest.write(checkpoint);
        }
        List<FileInfo> files = new ArrayList<>();
        for (Path file : FileTree.files(checkpoint)) {
            files.add(new FileInfo(file, null));
        }
        latest =
                new FileListSnapshotInfo(
                        files, TermIndex.valueOf(position.term(), position.index()));
    }

    private void dropAllBut(Path kept) throws IOException {
        for (Path child : children(directory)) {
            if (!child.equals(kept)) {
                FileTree.delete(child);
            }
        }
    }

    /** Ratis moves the old directory aside under a longer name and may die before deleting it. */
    private void dropReplaced() throws IOException {
        Path parent = directory.getParent();
        if (parent == null) {
            return;
        }
        String prefix = directory.getFileName() + ".tmp";
        for (Path sibling : children(parent)) {
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

    private static List<Path> children(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> paths = Files.list(directory)) {
            return paths.toList();
        }
    }

    private static String name(long term, long index) {
        return term + "-" + index;
    }

    private static long index(Path checkpoint) {
        String name = checkpoint.getFileName().toString();
        return Long.parseLong(name.substring(name.indexOf('-') + 1));
    }
}
