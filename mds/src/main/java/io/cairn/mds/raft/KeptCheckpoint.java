package io.cairn.mds.raft;

import io.cairn.common.file.FileTree;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.statemachine.SnapshotInfo;

/**
 * A complete checkpoint, as Ratis sees it. It notices when it is being sent to a member: Ratis asks
 * for the list of files before each chunk, and opens each file only when it sends it. Any thread.
 */
final class KeptCheckpoint implements SnapshotInfo {
    /** Without a chunk for so long it is no longer being sent. */
    static final Duration IDLE = Duration.ofMinutes(2);

    private final TermIndex position;
    private final Path directory;
    private final List<FileInfo> files;
    private final NanoClock clock;
    private boolean used;
    private long firstUsedNanos;
    private long lastUsedNanos;

    KeptCheckpoint(TermIndex position, Path directory, List<FileInfo> files, NanoClock clock) {
        this.position = position;
        this.directory = directory;
        this.files = List.copyOf(files);
        this.clock = clock;
    }

    static KeptCheckpoint of(Position position, Path directory, NanoClock clock)
            throws IOException {
        List<FileInfo> files = new ArrayList<>();
        for (Path file : FileTree.files(directory)) {
            files.add(new FileInfo(file, null));
        }
        return new KeptCheckpoint(
                TermIndex.valueOf(position.term(), position.index()), directory, files, clock);
    }

    Path directory() {
        return directory;
    }

    /** A member is being sent it, or was until a moment ago. */
    synchronized boolean inUse() {
        return used && clock.nanos() - lastUsedNanos < IDLE.toNanos();
    }

    /** The same, but not any more once it has been sent about for so long. */
    synchronized boolean inUseFor(Duration atMost) {
        return inUse() && clock.nanos() - firstUsedNanos < atMost.toNanos();
    }

    @Override
    public TermIndex getTermIndex() {
        return position;
    }

    @Override
    public synchronized List<FileInfo> getFiles() {
        lastUsedNanos = clock.nanos();
        if (!used) {
            used = true;
            firstUsedNanos = lastUsedNanos;
        }
        return files;
    }

    @Override
    public String toString() {
        return "checkpoint " + position;
    }
}
