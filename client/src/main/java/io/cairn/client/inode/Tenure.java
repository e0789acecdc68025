package io.cairn.client.inode;

import io.cairn.client.data.DataSession;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The session in which a file is open, and what became of the file when an earlier one ended: clean
 * files go on, writes that were lost are reported by every handle that was open then, and a file
 * that could not be opened again is gone. Guarded by the monitor of the {@link InodeState} that it
 * belongs to.
 *
 * <pre>
 *   NONE --opened--> OPEN --session ends--> REOPENING --opened--> OPEN
 *                                               '-----no such file--> GONE
 * </pre>
 */
final class Tenure {
    private final long inode;
    private DataSession session;
    private int losses;
    private int lossesTold;
    private Errno lossErrno = Errno.EIO;
    private @Nullable FsException gone;
    private @Nullable CompletableFuture<Void> reopening;

    /**
     * @param newest the client's session, for a file that is not open yet
     */
    Tenure(long inode, DataSession newest) {
        this.inode = inode;
        this.session = newest;
    }

    /** Requests of the file belong to it; it may have ended. */
    DataSession session() {
        return session;
    }

    void opened(DataSession in) {
        session = in;
    }

    // ---- the session ends

    /** The session has ended; completes when the file is open in the next one, or gone. */
    void reopening() {
        reopening = new CompletableFuture<>();
    }

    /** Null when nothing is to be waited for. */
    @Nullable CompletableFuture<Void> awaited() {
        return reopening;
    }

    /** The caller completes what is returned, without the monitor. */
    CompletableFuture<Void> reopened() {
        CompletableFuture<Void> done = reopening;
        reopening = null;
        return done == null ? new CompletableFuture<>() : done;
    }

    void gone() {
        gone = new FsException(Errno.ESTALE, "inode " + inode + " ended with its session");
    }

    /** Why nothing can be done with the file any more, or null. */
    @Nullable FsException whyGone() {
        return gone;
    }

    // ---- writes are lost

    /** Writes or locks were lost: handles there are now fail from now on. */
    void lose() {
        losses++;
        lossErrno = Errno.EIO;
    }

    /** The same for a change that was answered before it was made, and failed. */
    void lose(FsException why) {
        losses++;
        lossErrno = why.errno();
    }

    /** Whether writes were lost since this was last asked. */
    boolean takeNews() {
        boolean news = losses != lossesTold;
        lossesTold = losses;
        return news;
    }

    /** How often writes were lost: what a handle remembers from when it was opened. */
    int losses() {
        return losses;
    }

    /** Why a handle opened after so many losses can change nothing, or null. */
    @Nullable FsException refusal(int lossesKnown) {
        if (gone != null) {
            return gone;
        }
        return lossesKnown == losses
                ? null
                : new FsException(
                        lossErrno,
                        "writes to inode " + inode + ", or its locks, were lost: open it again");
    }
}
