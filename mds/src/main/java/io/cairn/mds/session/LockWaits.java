package io.cairn.mds.session;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AwaitLockReply;
import io.cairn.common.proto.AwaitLockRequest;
import io.cairn.common.proto.CancelLockReply;
import io.cairn.common.proto.CancelLockRequest;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.session.LockQueue.Waiter;
import io.cairn.mds.store.StateListener;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Calls that wait for locks, outside of the order of mutations. Nobody is granted anything here: a
 * waiter is told that it is its turn, and its client then takes the lock by a mutation, as if it
 * had not waited. So a call that was interrupted never gets a lock, however its cancellation and
 * its turn cross; at worst a turn passes unused.
 *
 * <p>Turns are policy; {@code apply} alone decides who has a lock. Nothing of it is durable: after
 * a change of leader clients ask again. The control thread only, except for {@link #admitted},
 * {@link #waiting} and the methods of a listener.
 */
public final class LockWaits implements StateListener {
    /** The longest a request is kept without an answer: clients take a silent leader for dead. */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** Each is a request in work on the session's connection, which has others to carry. */
    static final int MAX_OF_A_SESSION = 2048;

    private record Parked(RpcRequest request, long startNanos) {}

    private final Leadership leadership;
    private final ControlReader state;
    private final SessionTable sessions;
    private final Control control;
    private final NanoClock clock;
    private final MdsMeters metrics;
    private final LockQueue<Parked> queue = new LockQueue<>();

    LockWaits(
            Leadership leadership,
            ControlReader state,
            SessionTable sessions,
            Control control,
            NanoClock clock,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.state = state;
        this.sessions = sessions;
        this.control = control;
        this.clock = clock;
        this.metrics = metrics;
    }

    /** Calls that wait, over all files. Any thread. */
    public int waiting() {
        return queue.size();
    }

    /** What they want of a file. Any thread. */
    public List<FileLock> waitingFor(long inode) {
        return queue.waiting(inode).stream().map(waiter -> waiter.wanted).toList();
    }

    // ---- requests -----------------------------------------------------------

    /** Answered when it is the caller's turn, when it would wait for ever, or after a while. */
    public void await(RpcRequest request, long startNanos) {
        @Nullable AwaitLockRequest asked = parsed(request, AwaitLockRequest.parser());
        if (asked == null) {
            return;
        }
        FileLock wanted = asked.getLock();
        long session = wanted.getSession();
        if (sessions.get(session) == null) {
            request.fail(Mutations.fenced(session));
            return;
        }
        if (!queue.knows(wanted.getInode(), session, asked.getTicket())
                && queue.sizeOf(session) >= MAX_OF_A_SESSION) {
            request.fail(
                    RpcStatus.fail(
                            Errno.ENOLCK,
                            "session " + session + " waits for " + MAX_OF_A_SESSION + " locks"));
            return;
        }
        long now = clock.nanos();
        Waiter<Parked> waiter =
                queue.place(wanted, asked.getTicket(), !asked.getNoDeadlockCheck(), now);
        answer(waiter, false); // a request that was repeated
        waiter.request = new Parked(request, startNanos);
        waiter.untilNanos =
                now
                        + Math.min(
                                TimeUnit.MILLISECONDS.toNanos(asked.getWaitMillis()),
                                MAX_WAIT_NANOS);
        serve(wanted.getInode(), now);
        tellDeadlock(waiter); // who closes the circle is told, and nobody else
    }

    /** The call has ended: nobody waits for it any more. */
    public void cancel(RpcRequest request) {
        @Nullable CancelLockRequest asked = parsed(request, CancelLockRequest.parser());
        if (asked == null) {
            return;
        }
        @Nullable Waiter<Parked> waiter =
                queue.cancel(asked.getInode(), asked.getSession(), asked.getTicket());
        if (waiter != null) {
            answer(waiter, false);
        }
        request.reply(CancelLockReply.getDefaultInstance());
        serve(asked.getInode(), clock.nanos());
    }

    private <T extends MessageLite> @Nullable T parsed(RpcRequest request, Parser<T> parser) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return null;
        }
        try {
            return Heads.parse(parser, request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return null;
        }
    }

    private void answer(Waiter<Parked> waiter, boolean turn) {
        @Nullable Parked parked = waiter.request;
        waiter.request = null;
        if (parked != null) {
            parked.request.reply(AwaitLockReply.newBuilder().setTurn(turn).build());
            metrics.request(Method.AWAIT_LOCK, parked.startNanos, true);
        }
    }

    private void refuse(Waiter<Parked> waiter, RpcStatus status) {
        @Nullable Parked parked = waiter.request;
        queue.remove(waiter);
        if (parked != null) {
            parked.request.fail(status);
            metrics.request(Method.AWAIT_LOCK, parked.startNanos, false);
        }
    }

    /** The mutation as it goes into the log: a lock that is kept for another is not had. */
    Mutation admitted(Mutation m, long session) {
        if (!m.hasSetLock() || m.getSetLock().getUnlock()) {
            return m;
        }
        FileLock wanted = m.getSetLock().getLock().toBuilder().setSession(session).build();
        if (!queue.concerns(wanted.getInode())
                || !queue.isReserved(
                        wanted, m.getSetLock().getWaits(), clock.nanos(), state::locks)) {
            return m;
        }
        return m.toBuilder().setRefusedErrno(Errno.EAGAIN.number()).build();
    }

    // ---- told by the state --------------------------------------------------

    /**
     * Before its end is told, which may follow at once: a turn was used. An owner that waits for
     * another lock meanwhile, as a process of several threads may, can have closed a circle.
     */
    @Override
    public void lockTaken(FileLock lock) {
        queue.taken(lock);
        if (queue.isWaiting(lock)) {
            control.execute(() -> queue.waiting(lock.getInode()).forEach(this::tellDeadlock));
        }
    }

    @Override
    public void locksChanged(long inode) {
        if (queue.concerns(inode)) {
            control.execute(() -> serve(inode, clock.nanos()));
        }
    }

    // ---- the line -----------------------------------------------------------

    private void serve(long inode, long now) {
        dropGone(inode);
        if (!queue.concerns(inode)) {
            return;
        }
        for (Waiter<Parked> waiter : queue.serve(inode, state.locks(inode), now)) {
            answer(waiter, true);
        }
    }

    private void tellDeadlock(Waiter<Parked> waiter) {
        if (waiter.request != null && queue.isDeadlock(waiter, state::locks)) {
            metrics.deadlock();
            refuse(
                    waiter,
                    RpcStatus.fail(
                            Errno.EDEADLK,
                            "who holds the lock of inode "
                                    + waiter.wanted.getInode()
                                    + " waits for the caller"));
        }
    }

    private void dropGone(long inode) {
        for (Waiter<Parked> waiter : queue.waiting(inode)) {
            long session = waiter.wanted.getSession();
            @Nullable Parked parked = waiter.request;
            if (sessions.get(session) == null) {
                refuse(waiter, Mutations.fenced(session));
            } else if (parked != null && !parked.request.peer().connected()) {
                queue.remove(waiter);
            }
        }
    }

    // ---- duties -------------------------------------------------------------

    /** On becoming leader: nothing is known of an earlier time. */
    void begin() {
        queue.clear();
    }

    /** Answers requests that waited long, passes on turns nobody used. */
    public void tick() {
        long now = clock.nanos();
        for (Waiter<Parked> waiter : queue.late(now)) {
            answer(waiter, false);
            waiter.untilNanos = now + LockQueue.PLACE_NANOS;
        }
        for (long inode : queue.files()) {
            serve(inode, now);
        }
    }

    /** Nobody here will tell those that wait. */
    void end() {
        RpcStatus elsewhere =
                RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leadership.leaderAddress());
        for (long inode : queue.files()) {
            for (Waiter<Parked> waiter : queue.waiting(inode)) {
                refuse(waiter, elsewhere);
            }
        }
        queue.clear();
    }
}
