package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.time.Periodic;
import io.cairn.fuse.kernel.FuseOpcode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The requests in flight, and which of them are given up with EINTR because the process that waits
 * is about to end. Any thread.
 *
 * <p>The kernel interrupts a request on <em>any</em> signal, also on the timer and child signals
 * that a program handles all the time, and passes EINTR on even where the handler asked for a
 * restart. File systems on disks never return EINTR, so few programs expect it of open or unlink;
 * and the operation was carried out, or will be. Therefore a signal that the process handles
 * changes nothing: the handler runs when the operation is answered. EINTR is for those who will not
 * see it:
 *
 * <ul>
 *   <li>A process with a signal that ends it. The kernel tells of the first signal only, so
 *       requests once interrupted are looked at again and again.
 *   <li>A process that leaves and waits for its last close or its asynchronous I/O. No signal says
 *       so.
 * </ul>
 *
 * What of the operation was not sent to a server is dropped where a signal ended the process; a
 * program that ends by itself may well rely on the asynchronous writes it has begun. The rest goes
 * on, and its late result is dropped.
 */
final class Interrupts {
    private static final long DYING_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How long a process that leaves waits for its last operations. */
    private static final long LEAVING_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * How long an operation may still finish after a signal to a process whose number we are not
     * told, because it is in another pid namespace: the signal may be one that ends it.
     */
    private static final long UNKNOWN_MILLIS = 1000;

    private final ConcurrentHashMap<Long, FuseRequest> inFlight = new ConcurrentHashMap<>();

    /** The process of each thread that has made requests lately; 0 where that is not known. */
    private final ConcurrentHashMap<Integer, Integer> processes = new ConcurrentHashMap<>();

    private final ScheduledExecutorService timer =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("cairn-fuse-interrupts").factory());

    Interrupts() {
        var _ =
                Periodic.every(
                        timer,
                        DYING_CHECK_NANOS,
                        "The search for requests of processes that are killed",
                        this::endThoseOfTheDying);
        var _ =
                Periodic.every(
                        timer,
                        LEAVING_NANOS,
                        "The search for requests of processes that end",
                        this::endThoseOfTheLeaving);
    }

    /**
     * Finds out the process at once, because the thread may end before its asynchronous I/O does,
     * and then nothing says whose it was. To ask /proc takes 10 µs, at most once a second for each
     * thread.
     */
    void received(FuseRequest request) {
        request.process(processes.computeIfAbsent(request.pid(), CallingProcess::of));
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
        request.interrupted();
        if (request.pid() == 0) {
            var _ = timer.schedule(() -> giveUp(request), UNKNOWN_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        }
        if (CallingProcess.dying(request.pid())) {
            giveUp(request);
        }
        return true;
    }

    private void endThoseOfTheDying() {
        IntUnaryOperator dying = once(thread -> CallingProcess.dying(thread) ? 1 : 0);
        for (FuseRequest request : inFlight.values()) {
            if (request.wasInterrupted() && dying.applyAsInt(request.pid()) == 1) {
                giveUp(request);
            }
        }
    }

    /**
     * The number of a thread that has no requests may soon be another one's. That of one that has
     * some stays: what it asked may still wait in the kernel, and come when it is gone.
     */
    private void forgetIdleThreads() {
        Set<Integer> busy = new HashSet<>();
        inFlight.values().forEach(request -> busy.add(request.pid()));
        processes.keySet().retainAll(busy);
    }

    private void endThoseOfTheLeaving() {
        forgetIdleThreads();
        long before = System.nanoTime() - LEAVING_NANOS;
        IntUnaryOperator leaving = once(process -> CallingProcess.leaving(process) ? 1 : 0);
        IntUnaryOperator killed = once(process -> CallingProcess.killed(process) ? 1 : 0);
        for (FuseRequest request : inFlight.values()) {
            if (request.startNanos() - before >= 0 || leaving.applyAsInt(request.process()) == 0) {
                continue;
            }
            if (killed.applyAsInt(request.process()) == 1) {
                giveUp(request);
            } else {
                request.fail(Errno.EINTR);
            }
        }
    }

    private static void giveUp(FuseRequest request) {
        request.giveUp();
    }

    /** Asks once about each thread or process: many requests may be of one. */
    private static IntUnaryOperator once(IntUnaryOperator question) {
        Map<Integer, Integer> answers = new HashMap<>();
        return id -> answers.computeIfAbsent(id, question::applyAsInt);
    }

    void close() {
        timer.shutdownNow();
    }
}
