package io.cairn.mds.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AppendRecall;
import io.cairn.common.proto.AwaitAppendReply;
import io.cairn.common.proto.AwaitAppendRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.store.StateListener;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Which session may acquire the append right of a file next. Sessions that want it wait here in a
 * queue, outside of the order of mutations. The leader asks the holder to return the right, tells
 * the first in the queue when the right is free, and reserves it for that session for a moment.
 * Otherwise a holder with more to append would acquire it again before the others hear of it.
 *
 * <pre>
 *   asked --right free, first in line--> its turn --acquired, or 100 ms--> (the next one's turn)
 * </pre>
 *
 * <p>Turns are policy; {@code apply} alone decides who has the right. Turns are not durable: after
 * a change of leader clients ask again. The control thread only, except for {@link #admitted} and
 * the methods of a listener.
 */
public final class AppendTurns implements StateListener {
    public static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The longest a request is kept without an answer: clients take a silent leader for dead. */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** How long the place in line is kept for a session that was told to ask again. */
    public static final long PLACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A recall may get lost with its connection. */
    private static final long RECALL_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private record Turn(long session, long untilNanos) {}

    private static final class Waiter {
        final long session;

        /** Null once it was told to ask again. */
        @Nullable RpcRequest request;

        long startNanos;

        /** With a request: when it is answered in any case; without: when the place is lost. */
        long untilNanos;

        Waiter(long session) {
            this.session = session;
        }
    }

    private static final class Line {
        final ArrayDeque<Waiter> waiters = new ArrayDeque<>();
        long recalledFrom;

        /** When that one was first asked, and when last. */
        long askedNanos;

        long recalledNanos;
    }

    private final Leadership leadership;
    private final ControlReader state;
    private final SessionTable sessions;
    private final Control control;
    private final NanoClock clock;
    private final MdsMeters metrics;

    /** Of files somebody waits for; changed on the control thread only. */
    private final Map<Long, Line> lines = new ConcurrentHashMap<>();

    private final Map<Long, Turn> turns = new ConcurrentHashMap<>();

    AppendTurns(
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

    /** Sessions in line, over all files. Any thread; roughly. */
    public int waiting() {
        return lines.values().stream().mapToInt(line -> line.waiters.size()).sum();
    }

    // ---- requests -----------------------------------------------------------

    /**
     * A session wants the right of a file; answered when it is its turn, or when it waited long.
     */
    public void await(RpcRequest request, long startNanos) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        AwaitAppendRequest wanted;
        try {
            wanted = Heads.parse(AwaitAppendRequest.parser(), request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        long inode = wanted.getInode();
        @Nullable Turn turn = turns.get(inode);
        long now = clock.nanos();
        Line line = lines.computeIfAbsent(inode, i -> new Line());
        Waiter waiter = placeOf(line, wanted.getSession());
        waiter.request = request;
        waiter.startNanos = startNanos;
        waiter.untilNanos =
                now
                        + Math.min(
                                TimeUnit.MILLISECONDS.toNanos(wanted.getWaitMillis()),
                                MAX_WAIT_NANOS);
        if (turn != null && turn.session == waiter.session && now - turn.untilNanos < 0) {
            line.waiters.remove(waiter); // told before, and the answer was lost
            answer(waiter, true);
        }
        serve(inode, line, now);
    }

    /** Its own, kept or at the end. A request that it has repeated is answered. */
    private Waiter placeOf(Line line, long session) {
        for (Waiter waiter : line.waiters) {
            if (waiter.session == session) {
                answer(waiter, false);
                return waiter;
            }
        }
        Waiter last = new Waiter(session);
        line.waiters.add(last);
        return last;
    }

    private void answer(Waiter waiter, boolean turn) {
        @Nullable RpcRequest request = waiter.request;
        waiter.request = null;
        if (request != null) {
            request.reply(AwaitAppendReply.newBuilder().setTurn(turn).build());
            metrics.request(Method.AWAIT_APPEND, waiter.startNanos, true);
        }
    }

    /**
     * The mutation as it goes into the log: while it is another session's turn, the right is not
     * taken. Any thread.
     */
    Mutation admitted(Mutation m, long session) {
        return switch (m.getOpCase()) {
            case ACQUIRE_APPEND ->
                    isAnothersTurn(m.getAcquireAppend().getInode(), session)
                            ? m.toBuilder().setRefusedErrno(Errno.EAGAIN.number()).build()
                            : m;
            case OPEN -> {
                boolean takes = m.getOpen().getAppend();
                if (!takes || !isAnothersTurn(m.getOpen().getInode(), session)) {
                    yield m;
                }
                Mutation.Builder only = m.toBuilder();
                only.getOpenBuilder().clearAppend();
                yield only.build();
            }
            default -> m;
        };
    }

    private boolean isAnothersTurn(long inode, long session) {
        @Nullable Turn turn = turns.get(inode);
        return turn != null && turn.session != session && clock.nanos() - turn.untilNanos < 0;
    }

    // ---- told by the state --------------------------------------------------

    @Override
    public void appendRightTaken(long inode) {
        turns.remove(inode);
        // Who came in line before this was committed has seen no holder to ask.
        heard(inode);
    }

    @Override
    public void appendRightFree(long inode) {
        heard(inode);
    }

    private void heard(long inode) {
        if (lines.containsKey(inode)) {
            control.execute(() -> {
                @Nullable Line line = lines.get(inode);
                if (line != null) {
                    serve(inode, line, clock.nanos());
                }
            });
        }
    }

    // ---- the line -----------------------------------------------------------

    /** Gives the turn to the first in the queue if the right is free, else recalls the right. */
    private void serve(long inode, Line line, long now) {
        dropGone(line);
        @Nullable Waiter first = line.waiters.peek();
        if (first == null) {
            lines.remove(inode);
            return;
        }
        @Nullable Turn turn = turns.get(inode);
        if (turn != null && now - turn.untilNanos < 0) {
            return; // its session acquires the right, or lets the time pass
        }
        long holder = state.appender(inode);
        if (holder != 0 && holder != first.session) {
            recall(inode, holder, line, now);
            return;
        }
        line.waiters.remove();
        line.recalledFrom = 0;
        turns.put(inode, new Turn(first.session, now + TURN_NANOS));
        answer(first, true);
        if (line.waiters.isEmpty()) {
            lines.remove(inode);
        }
    }

    private void dropGone(Line line) {
        for (Iterator<Waiter> i = line.waiters.iterator(); i.hasNext(); ) {
            Waiter waiter = i.next();
            @Nullable RpcRequest request = waiter.request;
            if (sessions.get(waiter.session) == null) {
                i.remove();
                if (request != null) {
                    request.fail(Mutations.fenced(waiter.session));
                }
            } else if (request != null && !request.peer().connected()) {
                i.remove();
            }
        }
    }

    private void recall(long inode, long holder, Line line, long now) {
        boolean again = line.recalledFrom == holder;
        if (again && now - line.recalledNanos < RECALL_AGAIN_NANOS) {
            return;
        }
        if (!again) {
            metrics.appendRecalled();
            line.askedNanos = now;
        }
        line.recalledFrom = holder;
        line.recalledNanos = now;
        @Nullable ClientSession session = sessions.get(holder); // null: evicted, ends by itself
        @Nullable RpcPeer peer = session == null ? null : session.peer();
        if (peer != null) {
            peer.push(
                    Method.APPEND_RECALL_VALUE, AppendRecall.newBuilder().setInode(inode).build());
        }
    }

    // ---- duties -------------------------------------------------------------

    /** On becoming leader: nothing is known of an earlier time. */
    void begin() {
        lines.clear();
        turns.clear();
    }

    /** Answers requests that waited long, passes on turns nobody used, repeats recalls. */
    public void tick() {
        long now = clock.nanos();
        turns.values().removeIf(turn -> now - turn.untilNanos >= 0);
        lines.forEach((inode, line) -> {
            for (Iterator<Waiter> i = line.waiters.iterator(); i.hasNext(); ) {
                Waiter waiter = i.next();
                if (now - waiter.untilNanos < 0) {
                    continue;
                }
                if (waiter.request == null) {
                    i.remove();
                } else {
                    answer(waiter, false);
                    waiter.untilNanos = now + PLACE_NANOS;
                }
            }
            serve(inode, line, now);
        });
    }

    /** Sessions that hold a right that others wait for, and were not heard of since for so long. */
    Set<Long> silent(long silenceNanos) {
        long now = clock.nanos();
        Set<Long> silent = new HashSet<>();
        for (Line line : lines.values()) {
            long holder = line.recalledFrom;
            if (holder != 0 && sessions.isSilent(holder, line.askedNanos, now, silenceNanos)) {
                silent.add(holder);
            }
        }
        return silent;
    }

    /** Nobody here will tell those that wait. */
    void end() {
        RpcStatus elsewhere =
                RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leadership.leaderAddress());
        for (Line line : lines.values()) {
            for (Waiter waiter : line.waiters) {
                @Nullable RpcRequest request = waiter.request;
                if (request != null) {
                    request.fail(elsewhere);
                }
            }
        }
        begin();
    }
}
