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

    /** What of a checkpoint one message carries. */
    static final int CHUNK_BYTES = 4 << 20;

    /**
     * The whole of a checkpoint may be sent so often, to all members together. Who asks for more
     * begins again and again, and makes no progress.
     */
    private static final int MOST_SENDINGS = 4;

    private final TermIndex position;
    private final Path directory;
    private final List<FileInfo> files;
    private final NanoClock clock;
    private boolean used;
    private long firstUsedNanos;
    private long lastUsedNanos;
    private long asked;

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

    /**
     * The same, and there is progress: it has not been sent about for longer than the time given,
     * or no more chunks were asked for since than a few members need for all of it.
     */
    synchronized boolean inUseWithProgress(Duration anyway) {
        return inUse()
                && (clock.nanos() - firstUsedNanos < anyway.toNanos()
                        || asked <= MOST_SENDINGS * chunks());
    }

    /** Questions for the files while all of it is sent once: one at first, one for each chunk. */
    private long chunks() {
        return 1
                + files.stream()
                        .mapToLong(f -> Math.max(1, Math.ceilDiv(f.getFileSize(), CHUNK_BYTES)))
                        .sum();
    }

    @Override
    public TermIndex getTermIndex() {
        return position;
    }

    @Override
    public synchronized List<FileInfo> getFiles() {
        lastUsedNanos = clock.nanos();
        asked++;
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
