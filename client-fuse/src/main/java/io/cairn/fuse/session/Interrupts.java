package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.FuseOpcode;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The requests under way, and what happens to them when a signal reaches the process that waits.
 * Any thread.
 *
 * <p>The kernel interrupts a request on <em>any</em> signal, also on the timer and child signals
 * that a program handles all the time, and passes EINTR on even where the handler asked for a
 * restart. File systems on disks never return EINTR, so few programs expect it of open or unlink.
 * Therefore: where the signal ends the process, EINTR at once; where the process handles it, only
 * after {@link #GRACE_MILLIS}, which a healthy cluster never needs. Either way the operation itself
 * goes on; its late result is dropped.
 */
final class Interrupts {
    /** How long an operation may still finish after a signal that does not end the process. */
    static final long GRACE_MILLIS = 1000;

    private final ConcurrentHashMap<Long, FuseRequest> inFlight = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("cairn-fuse-interrupts").factory());

    Interrupts() {
        var _ =
                timer.scheduleWithFixedDelay(
                        this::endFlushesOfTheDying,
                        GRACE_MILLIS,
                        GRACE_MILLIS,
                        TimeUnit.MILLISECONDS);
    }

    void received(FuseRequest request) {
        inFlight.put(request.unique(), request);
    }

    void answered(FuseRequest request) {
        inFlight.remove(request.unique());
    }

    int inFlight() {
        return inFlight.size();
    }

    /**
     * A process that waits for the request got a signal. False where the request is not known: it
     * was answered meanwhile, or another reader has yet to register it.
     */
    boolean interrupt(long target) {
        @Nullable FuseRequest request = inFlight.get(target);
        if (request == null) {
            return false;
        }
        if (request.opcode() == FuseOpcode.INIT) {
            return true;
        }
        if (CallingProcess.dying(request.pid())) {
            request.fail(Errno.EINTR);
        } else {
            var _ =
                    timer.schedule(
                            () -> request.fail(Errno.EINTR), GRACE_MILLIS, TimeUnit.MILLISECONDS);
        }
        return true;
    }

    /**
     * A killed process closes its files, and that FLUSH comes after its last signal: no interrupt
     * ever follows. Without this it could not die while the cluster is away.
     */
    private void endFlushesOfTheDying() {
        long before = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(GRACE_MILLIS);
        for (FuseRequest request : inFlight.values()) {
            if (request.opcode() == FuseOpcode.FLUSH
                    && request.startNanos() - before < 0
                    && CallingProcess.dying(request.pid())) {
                request.fail(Errno.EINTR);
            }
        }
    }

    void close() {
        timer.shutdownNow();
    }
}
