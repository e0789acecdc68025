package io.cairn.client.data;

import io.cairn.common.errno.FsException;
import org.jspecify.annotations.Nullable;

/**
 * A session of this client as the data servers see it. Requests belong to the one in which they
 * began, and are never sent in another: its numbers say what was executed, and a server that
 * refuses it refuses all that is left of it. Any thread.
 *
 * <pre>
 *   open --files are told--> ending --> ended
 * </pre>
 */
public final class DataSession {
    private final long id;
    private final DataNumbers numbers = new DataNumbers();
    private volatile boolean ending;
    private volatile @Nullable FsException ended;

    /**
     * @param id its number at the MDS
     */
    public DataSession(long id) {
        this.id = id;
    }

    /** Its number at the MDS. */
    public long id() {
        return id;
    }

    DataNumbers numbers() {
        return numbers;
    }

    /** Nothing new begins in it; requests that were begun are still sent. */
    void ending() {
        ending = true;
    }

    /** Whether it has begun to end: what is counted in it from now on counts for nothing. */
    public boolean isEnding() {
        return ending;
    }

    void end(FsException reason) {
        ending = true;
        ended = reason;
    }

    /** Why nothing of it is sent any more, or null. */
    public @Nullable FsException ended() {
        return ended;
    }
}
