package io.cairn.fuse.session;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.libc.LinuxError;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request of the kernel, to be answered exactly once, by any thread. The first answer counts:
 * where an interrupt was faster, the methods return false and whoever lost disposes of what it had
 * made.
 */
public final class FuseRequest {
    private static final Logger LOG = LoggerFactory.getLogger(FuseRequest.class);

    private final FuseSession session;
    private final FuseDevice device;
    private final FuseOpcode opcode;
    private final long unique;
    private final long node;
    private final int uid;
    private final int gid;
    private final int pid;
    private final long startNanos = System.nanoTime();
    private final AtomicBoolean answered = new AtomicBoolean();

    /** Under the monitor: what is to be done when the thread that waits gets a signal. */
    private @Nullable Runnable whenInterrupted;

    private volatile boolean interrupted;

    /** Under the monitor: what is to be done when nobody waits any more, and whether that is so. */
    private @Nullable Runnable whenGivenUp;

    private boolean givenUp;

    private volatile int process;

    FuseRequest(
            FuseSession session,
            FuseDevice device,
            FuseOpcode opcode,
            long unique,
            long node,
            int uid,
            int gid,
            int pid) {
        this.session = session;
        this.device = device;
        this.opcode = opcode;
        this.unique = unique;
        this.node = node;
        this.uid = uid;
        this.gid = gid;
        this.pid = pid;
    }

    public FuseOpcode opcode() {
        return opcode;
    }

    long unique() {
        return unique;
    }

    /** The node the request is about, as the kernel numbers it. */
    public long node() {
        return node;
    }

    public int uid() {
        return uid;
    }

    public int gid() {
        return gid;
    }

    /** Thread id of the caller; 0 where it lives in another pid namespace or is the kernel. */
    public int pid() {
        return pid;
    }

    /** The process of that thread; 0 where that is not known. */
    int process() {
        return process;
    }

    void process(int id) {
        process = id;
    }

    /** The thread that waits got a signal. */
    void interrupted() {
        @Nullable Runnable then;
        synchronized (this) {
            interrupted = true;
            then = whenInterrupted;
        }
        if (then != null) {
            run(then);
        }
    }

    /**
     * Says what is to be done when the thread that waits gets a signal, whatever signal: once or
     * more, on any thread, also at once. For calls that wait for other programs, and so must end
     * with EINTR where a handler wants that.
     */
    public void whenInterrupted(Runnable then) {
        synchronized (this) {
            whenInterrupted = then;
            if (!interrupted) {
                return;
            }
        }
        run(then);
    }

    boolean wasInterrupted() {
        return interrupted;
    }

    /**
     * Nobody waits any more: answers with EINTR, and ends what can still be ended of the operation.
     */
    void giveUp() {
        if (!fail(Errno.EINTR)) {
            return;
        }
        session.givenUp();
        @Nullable Runnable then;
        synchronized (this) {
            givenUp = true;
            then = whenGivenUp;
            whenGivenUp = null;
        }
        if (then != null) {
            run(then);
        }
    }

    /** The thread that looks after all requests must go on. */
    private void run(Runnable then) {
        try {
            then.run();
        } catch (RuntimeException e) {
            LOG.error(
                    "{} node {} was interrupted or given up, but not ended",
                    opcode.label(),
                    node,
                    e);
        }
    }

    /**
     * Says what is to be done when the process that waits is killed or leaves: once, on any thread,
     * also at once. It replaces what was said before.
     */
    public void whenGivenUp(Runnable then) {
        synchronized (this) {
            if (!givenUp) {
                whenGivenUp = then;
                return;
            }
        }
        run(then);
    }

    long startNanos() {
        return startNanos;
    }

    public boolean answered() {
        return answered.get();
    }

    public boolean fail(Errno errno) {
        return replyError(errno.number());
    }

    /** The one place where a failure becomes a kernel error number. */
    public boolean fail(Throwable failure) {
        Throwable cause = Causes.of(failure);
        if (cause instanceof CancellationException) { // answered when it was given up
            return fail(Errno.EINTR);
        }
        if (cause instanceof FsException expected) {
            LOG.debug("{} node {}: {}", opcode.label(), node, expected.getMessage());
            return fail(expected.errno());
        }
        if (cause instanceof OutOfMemoryError) {
            LOG.warn("{} node {}: out of memory", opcode.label(), node, cause);
            return fail(Errno.ENOMEM);
        }
        LOG.error("{} node {} failed, answered EIO", opcode.label(), node, cause);
        return fail(Errno.EIO);
    }

    /** As {@link #fail(Errno)}, for a number. */
    public boolean replyError(int error) {
        if (!claim(error)) {
            return false;
        }
        delivered(ReplyBuffer.ofThread().write(device, error, unique, 0));
        return true;
    }

    /** Success without a body. */
    public boolean replyEmpty() {
        return replyError(0);
    }

    /** Success with the first bytes of this thread's {@link ReplyBuffer#body()}. */
    public boolean reply(ReplyBuffer buffer, int bodyBytes) {
        if (!claim(0)) {
            return false;
        }
        delivered(buffer.write(device, 0, unique, bodyBytes));
        return true;
    }

    /** Success with a payload, which is released in any case. */
    public boolean reply(ByteBuf payload) {
        try {
            if (!claim(0)) {
                return false;
            }
            delivered(ReplyBuffer.ofThread().write(device, unique, payload));
            return true;
        } finally {
            payload.release();
        }
    }

    private boolean claim(int error) {
        if (answered.getAndSet(true)) {
            return false;
        }
        session.answered(this, error);
        return true;
    }

    /** ENOENT: the kernel no longer waits. ENODEV: unmounted. Neither is an error of ours. */
    private void delivered(long result) {
        if (result < 0 && result != -LinuxError.ENOENT && result != -LinuxError.ENODEV) {
            LOG.error(
                    "the kernel refused the answer to {} of node {}: {}",
                    opcode.label(),
                    node,
                    LinuxError.describe((int) -result));
        }
    }

    @Override
    public String toString() {
        return opcode.label() + " node " + node + " uid " + uid + " pid " + pid + " #" + unique;
    }
}
