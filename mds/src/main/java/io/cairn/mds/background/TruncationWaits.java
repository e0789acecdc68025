package io.cairn.mds.background;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Truncation;
import io.cairn.common.proto.WaitTruncatedReply;
import io.cairn.common.proto.WaitTruncatedRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.session.Mutations;
import io.cairn.mds.session.SessionTable;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Clients that have shrunk a file which others hold open, and wait until the cut is on all chunks:
 * {@code WAIT_TRUNCATED}. Their requests are parked here, outside of any session's order of
 * mutations, until the {@link Truncator} reports the cut, their time is over, their session ends or
 * this member no longer leads; a client asks again until it is told that the cut is applied.
 *
 * <p>That a cut is applied stays true for ever, so the answer needs no leader's lease; that it is
 * not is never said for certain. The control thread only, except for what it is told of sessions
 * and for the figure.
 */
public final class TruncationWaits implements StateListener {
    /** Of one session: below what a connection may have in hand before it is not read any more. */
    public static final int MAX_OF_SESSION = 256;

    private static final int MAX_OF_ALL = 16 << 10;

    /** How long a request is parked, at most, so that what nobody waits for goes. */
    private static final long MAX_PARKED_NANOS = TimeUnit.SECONDS.toNanos(5);

    private record Wait(
            RpcRequest request, long session, long sequence, long startNanos, long untilNanos) {}

    private final Leadership leadership;
    private final ControlReader state;
    private final SessionTable sessions;
    private final Truncator truncator;
    private final Control control;
    private final MdsMeters metrics;

    /** By inode. */
    private final Map<Long, List<Wait>> parked = new HashMap<>();

    private final Map<Long, Integer> parkedOfSession = new HashMap<>();
    private final AtomicInteger parkedOfAll = new AtomicInteger();

    public TruncationWaits(
            Leadership leadership,
            ControlReader state,
            SessionTable sessions,
            Truncator truncator,
            Control control,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.state = state;
        this.sessions = sessions;
        this.truncator = truncator;
        this.control = control;
        this.metrics = metrics;
        truncator.attach(this::applied);
    }

    public void handle(RpcRequest request, long startNanos) {
        WaitTruncatedRequest asked;
        try {
            asked = Heads.parse(WaitTruncatedRequest.parser(), request.head());
        } catch (FsException e) {
            fail(request, startNanos, RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal == null && sessions.get(asked.getSession()) == null) {
            refusal = Mutations.fenced(asked.getSession());
        }
        boolean applied = refusal == null && isApplied(asked);
        if (refusal == null) {
            refusal = leadership.refusal(); // the state that was read may be an old leader's
        }
        if (refusal != null) {
            fail(request, startNanos, refusal);
        } else if (applied) {
            answer(request, startNanos, true);
        } else {
            park(request, asked, startNanos);
        }
    }

    private boolean isApplied(WaitTruncatedRequest asked) {
        @Nullable Attr file = state.attr(asked.getInode());
        return file == null
                || file.getPendingTruncationsList().stream()
                        .mapToLong(Truncation::getSequence)
                        .noneMatch(pending -> pending <= asked.getSequence());
    }

    private void park(RpcRequest request, WaitTruncatedRequest asked, long startNanos) {
        long session = asked.getSession();
        if (parkedOfAll.get() >= MAX_OF_ALL
                || parkedOfSession.getOrDefault(session, 0) >= MAX_OF_SESSION) {
            fail(
                    request,
                    startNanos,
                    RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "too many wait for truncations"));
            return;
        }
        long now = System.nanoTime();
        // Half of the caller's patience, so that the answer arrives before it is over.
        long patience = Math.min((request.deadlineNanos() - now) / 2, MAX_PARKED_NANOS);
        parkedOfAll.incrementAndGet();
        parkedOfSession.merge(session, 1, Integer::sum);
        parked.computeIfAbsent(asked.getInode(), i -> new ArrayList<>(1))
                .add(new Wait(request, session, asked.getSequence(), startNanos, now + patience));
        truncator.hurry(asked.getInode());
    }

    /** The truncator says so: the cuts of the inode up to this one are on all chunks. */
    private void applied(long inode, long sequence) {
        for (Wait wait : taken(inode, w -> w.sequence <= sequence)) {
            answer(wait.request, wait.startNanos, true);
        }
    }

    /** Answers those whose time is over. */
    public void tick() {
        long now = System.nanoTime();
        for (Wait wait : taken(w -> now - w.untilNanos >= 0)) {
            answer(wait.request, wait.startNanos, false);
        }
    }

    @Override
    public void sessionRefused(long session, long mapEpoch) {
        sessionEnded(session);
    }

    /** It is no longer in the table of sessions, so that none is parked after this. */
    @Override
    public void sessionEnded(long session) {
        control.execute(() -> {
            for (Wait wait : taken(w -> w.session == session)) {
                fail(wait.request, wait.startNanos, Mutations.fenced(session));
            }
        });
    }

    /** Another member may lead: it is asked from now on. */
    public void end() {
        RpcStatus status =
                RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leadership.leaderAddress());
        for (Wait wait : taken(w -> true)) {
            fail(wait.request, wait.startNanos, status);
        }
    }

    /** Requests parked. Any thread. */
    public int depth() {
        return parkedOfAll.get();
    }

    private List<Wait> taken(Predicate<Wait> which) {
        List<Wait> all = new ArrayList<>();
        if (depth() > 0) {
            for (long inode : List.copyOf(parked.keySet())) {
                all.addAll(taken(inode, which));
            }
        }
        return all;
    }

    private List<Wait> taken(long inode, Predicate<Wait> which) {
        @Nullable List<Wait> waits = parked.get(inode);
        if (waits == null) {
            return List.of();
        }
        List<Wait> taken = new ArrayList<>();
        for (Iterator<Wait> i = waits.iterator(); i.hasNext(); ) {
            Wait wait = i.next();
            if (which.test(wait)) {
                i.remove();
                taken.add(wait);
                parkedOfAll.decrementAndGet();
                parkedOfSession.computeIfPresent(wait.session, (s, n) -> n == 1 ? null : n - 1);
            }
        }
        if (waits.isEmpty()) {
            parked.remove(inode);
        }
        return taken;
    }

    private void answer(RpcRequest request, long startNanos, boolean applied) {
        request.reply(WaitTruncatedReply.newBuilder().setApplied(applied).build());
        metrics.request(Method.WAIT_TRUNCATED, startNanos, true);
    }

    private void fail(RpcRequest request, long startNanos, RpcStatus status) {
        request.fail(status);
        metrics.request(Method.WAIT_TRUNCATED, startNanos, false);
    }
}
