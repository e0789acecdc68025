package io.cairn.mds.raft;

import io.cairn.common.config.ByteSize;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Watches the free space of the Raft log's file system. A log that meets ENOSPC can block its
 * member for good. So the service stops growing at {@link Level#LOW}, and the process ends at
 * {@link Level#OUT}.
 *
 * <p>{@link #check} by one thread, the rest by any.
 */
public final class SpaceWatch {
    /** What is still allowed. */
    public enum Level {
        PLENTY,
        /** Only what frees space, or takes none. */
        LOW,
        /** Nothing; the member stops. */
        OUT
    }

    private final Path directory;
    private final FileStore store;
    private final long softBytes;
    private final long hardBytes;
    private volatile long freeBytes;
    private volatile Level level = Level.PLENTY;

    SpaceWatch(Path directory, long softBytes, long hardBytes) throws IOException {
        this.directory = directory;
        this.store = Files.getFileStore(directory);
        this.softBytes = softBytes;
        this.hardBytes = hardBytes;
        check();
    }

    /** Asks the file system. */
    Level check() throws IOException {
        return note(store.getUsableSpace());
    }

    Level note(long free) {
        freeBytes = free;
        Level now = free < hardBytes ? Level.OUT : free < softBytes ? Level.LOW : Level.PLENTY;
        level = now;
        return now;
    }

    /** As of the last check, at most about a second ago. */
    public Level level() {
        return level;
    }

    public long freeBytes() {
        return freeBytes;
    }

    /** For the administrator; empty with {@link Level#PLENTY}. */
    public Optional<String> warning() {
        return level == Level.PLENTY
                ? Optional.empty()
                : Optional.of(
                        "the file system of the Raft log (%s) has only %s free, below %s it stops: make room there"
                                .formatted(
                                        directory,
                                        ByteSize.text(freeBytes),
                                        ByteSize.text(hardBytes)));
    }
}
