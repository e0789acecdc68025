package io.cairn.mds.raft;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How much room the file system of the Raft log has left. A log that runs into ENOSPC can wedge its
 * member for good, so the service stops growing before ({@link Level#LOW}) and the process ends
 * before ({@link Level#OUT}) that happens.
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

    private final FileStore store;
    private final long softBytes;
    private final long hardBytes;
    private volatile long freeBytes;
    private volatile Level level = Level.PLENTY;

    SpaceWatch(Path directory, long softBytes, long hardBytes) throws IOException {
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
}
