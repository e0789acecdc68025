package io.cairn.fuse.jnr;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Credentials;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.session.CallingProcess;
import io.cairn.fuse.session.FuseMeters;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import jnr.ffi.Pointer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import ru.serce.jnrfuse.struct.FuseContext;

/**
 * Carries out what libfuse calls on the thread it calls on: waits for the client, looks whether
 * anybody still waits for the result, and makes the result a number or an error number. Signals
 * have the effect that {@code session.Interrupts} describes. Any thread.
 */
final class Calls {
    private static final Logger LOG = LoggerFactory.getLogger(Calls.class);
    private static final Logger TRACE = LoggerFactory.getLogger("io.cairn.fuse.trace");
    private static final long LOOK_MILLIS = 100;

    /** How long a process that leaves waits for its last operations. */
    private static final long LEAVING_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LibFuse2 libFuse;
    private final FuseMeters meters;
    private final boolean debug;
    private final AtomicInteger inFlight = new AtomicInteger();

    /** What one call does; its result is not negative. */
    interface Body {
        int run();
    }

    /** The same for a call on a handle. */
    interface OnHandle {
        int run(long handle);
    }

    /** Made into words only where something is logged. */
    private record Handle(long number) {
        @Override
        public String toString() {
            return "#" + number;
        }
    }

    Calls(LibFuse2 libFuse, FuseMeters meters, boolean debug) {
        this.libFuse = libFuse;
        this.meters = meters;
        this.debug = debug;
        meters.inFlight(inFlight::get);
    }

    /** As {@link #run}, for the handle that the kernel gives with the call. */
    int onHandle(FuseOpcode opcode, Pointer info, OnHandle body) {
        long handle = CStructs.handle(info);
        return run(opcode, new Handle(handle), () -> body.run(handle));
    }

    /**
     * The body's result, or a negative error number.
     *
     * @param what for the log
     */
    int run(FuseOpcode opcode, Object what, Body body) {
        long start = System.nanoTime();
        inFlight.incrementAndGet();
        int result;
        try {
            result = body.run();
        } catch (Throwable e) { // what leaves here ends the process
            result = -errorOf(opcode, what, e);
        } finally {
            inFlight.decrementAndGet();
        }
        meters.answered(opcode, System.nanoTime() - start, Math.max(0, -result));
        if (debug) {
            TRACE.info("{} {}: {}", opcode.label(), what, result);
        }
        return result;
    }

    /** The one place where a failure becomes an error number. */
    private static int errorOf(FuseOpcode opcode, Object what, Throwable failure) {
        Throwable cause = Causes.of(failure);
        if (cause instanceof FsException expected) {
            LOG.debug("{} {}: {}", opcode.label(), what, expected.getMessage());
            return expected.errno().number();
        }
        if (cause instanceof CancellationException) {
            return Errno.EINTR.number();
        }
        if (cause instanceof OutOfMemoryError) {
            LOG.warn("{} {}: out of memory", opcode.label(), what, cause);
            return Errno.ENOMEM.number();
        }
        LOG.error("{} {} failed, answered EIO", opcode.label(), what, cause);
        return Errno.EIO.number();
    }

    Credentials credentials() {
        FuseContext context = libFuse.fuse_get_context();
        return Credentials.newBuilder()
                .setUid(context.uid.intValue())
                .setGid(context.gid.intValue())
                .build();
    }

    /**
     * Whether a write clears set-user-id and set-group-id: the kernel leaves it to us for direct
     * I/O, and does not say who has CAP_FSETID.
     */
    boolean writeKillsPrivileges() {
        return libFuse.fuse_get_context().uid.intValue() != 0;
    }

    <T> T await(CompletableFuture<T> future) {
        return await(future, late -> {});
    }

    /**
     * Waits for the result.
     *
     * @param late disposes of a result that comes when nobody waits any more
     */
    <T> T await(CompletableFuture<T> future, Consumer<T> late) {
        return await(future, late, () -> {});
    }

    /**
     * Waits for the result.
     *
     * @param late disposes of a result that comes when nobody waits any more
     * @param onSignal what is to be done when the thread that waits got a signal
     */
    <T> T await(CompletableFuture<T> future, Consumer<T> late, Runnable onSignal) {
        Waiting waiting = new Waiting();
        while (true) {
            try {
                return future.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                if (waiting.isInVain()) {
                    meters.givenUp();
                    giveUp(future, late, waiting.killed);
                }
                if (waiting.signalled >= 0) {
                    onSignal.run();
                }
            } catch (ExecutionException e) {
                throw unchecked(Causes.of(e));
            } catch (InterruptedException e) {
                throw new FsException(Errno.EINTR, "the mount ends");
            }
        }
    }

    /** The process that calls. */
    int process() {
        return CallingProcess.of(libFuse.fuse_get_context().pid.intValue());
    }

    /** The thread that calls. */
    int thread() {
        return libFuse.fuse_get_context().pid.intValue();
    }

    /** What was not sent of a killed process's operation is dropped. */
    private static <T> void giveUp(CompletableFuture<T> future, Consumer<T> late, boolean killed) {
        if (!killed || !future.cancel(false)) {
            var _ = future.thenAccept(late);
        }
        throw new FsException(Errno.EINTR, "nobody waits any more");
    }

    private static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof RuntimeException runtime ? runtime : new RuntimeException(cause);
    }

    /** What is known of the process that waits for the call of this thread. */
    private final class Waiting {
        private final long start = System.nanoTime();
        private final int thread = libFuse.fuse_get_context().pid.intValue();
        private @Nullable Integer process;
        private long signalled = -1;
        private boolean killed;

        boolean isInVain() {
            long waited = System.nanoTime() - start;
            if (signalled < 0 && libFuse.fuse_interrupted() != 0) {
                meters.interrupted();
                signalled = waited;
            }
            if (thread == 0) { // in another pid namespace: the signal may be one that ends it
                return killed = signalled >= 0 && waited - signalled >= LEAVING_NANOS;
            }
            if (signalled >= 0 && CallingProcess.dying(thread)) {
                return killed = true;
            }
            if (process == null) {
                process = CallingProcess.of(thread);
            }
            boolean leaves = waited >= LEAVING_NANOS && CallingProcess.leaving(process);
            killed = leaves && CallingProcess.killed(process);
            return leaves;
        }
    }
}
