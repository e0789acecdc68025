package io.cairn.client.meta;

import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import java.util.concurrent.CompletableFuture;

/**
 * An open for reading from the moment it is asked for to its answer. As a mutation it has two ends:
 * {@link #reply()} is for the caller and fails when the deadline passes; {@link #answer()}
 * completes when the leader has answered, because until then the leader may take the file for open.
 * Any thread.
 */
public final class PendingReadOpen {
    private final long inode;
    private final long number;
    private final long deadlineNanos;
    private volatile long session;
    private final CompletableFuture<Attr> answer = new CompletableFuture<>();
    private final CompletableFuture<Attr> reply = new CompletableFuture<>();

    PendingReadOpen(long inode, long number, long deadlineNanos) {
        this.inode = inode;
        this.number = number;
        this.deadlineNanos = deadlineNanos;
    }

    long inode() {
        return inode;
    }

    /** Greater than that of every open before it; to be named when it is closed. */
    public long number() {
        return number;
    }

    /** In which it is open; 0 before it is answered. */
    public long session() {
        return session;
    }

    /**
     * Completes before the reply, with the attributes at some moment after the open began. Fails
     * where it is open nowhere: ENOENT for a file that is gone, EINVAL for what is no file,
     * EOPNOTSUPP where it must be opened by a mutation, ESTALE when the client is closed.
     */
    public CompletableFuture<Attr> answer() {
        return answer;
    }

    /** The answer by the deadline, or ETIMEDOUT. */
    public CompletableFuture<Attr> reply() {
        return reply;
    }

    boolean isLate(long nowNanos) {
        return nowNanos - deadlineNanos >= 0 && !reply.isDone();
    }

    void answered(Attr attr, long in) {
        session = in;
        answer.complete(attr);
        reply.complete(attr);
    }

    void failed(FsException why) {
        answer.completeExceptionally(why);
        reply.completeExceptionally(why);
    }

    /** The caller is told; the open stays asked for. */
    void late(FsException why) {
        reply.completeExceptionally(why);
    }
}
