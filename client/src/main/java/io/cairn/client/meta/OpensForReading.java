package io.cairn.client.meta;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CloseForReadingReply;
import io.cairn.common.proto.CloseForReadingRequest;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReadOpen;
import io.cairn.common.proto.ReclaimOpensReply;
import io.cairn.common.proto.ReclaimOpensRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the session has open for reading, which nobody but the leader knows. Each leader that is
 * found is told all of it first, and so is one that asks for it. That begins a round: what was sent
 * in an earlier one the leader no longer takes, and its answers do not count here. So an open
 * without an answer is repeated in the next round, and a close that was lost needs no repetition:
 * what is not reclaimed is closed.
 *
 * <pre>
 *   AWAY --leader found--> RECLAIMING --answered--> READY
 *                              ^------asked to--------'
 * </pre>
 *
 * <p>Any thread; guarded by the session's lock, and callers are told outside of it.
 */
final class OpensForReading {
    /** Inodes named in one message. */
    static final int PART = 10_000;

    private enum Phase {
        AWAY,
        RECLAIMING,
        READY
    }

    private final MdsSession session;
    private final SessionCalls calls;

    /** Of the newest open of the session, by inode. */
    private final Map<Long, Long> held = new HashMap<>();

    /** Without an answer, by number. */
    private final Map<Long, PendingReadOpen> pending = new LinkedHashMap<>();

    private final OpensAhead ahead = new OpensAhead(this);

    /** Closed, but not yet at the leader: numbers by inode. */
    private final Map<Long, Long> toClose = new LinkedHashMap<>();

    private Phase phase = Phase.AWAY;
    private long round;
    private long lastNumber;

    /** Before those of the round. */
    private long lastOfEarlier;

    /** Parts of the reclaim without an answer. */
    private int parts;

    /** A message that closes is in flight; the next one takes all that there is then. */
    private boolean closing;

    OpensForReading(MdsSession session, SessionCalls calls) {
        this.session = session;
        this.calls = calls;
    }

    /** Under the lock. */
    OpensAhead ahead() {
        return ahead;
    }

    /**
     * Asks for it now, or when there is a leader; or it is open already, by its look-up.
     *
     * @param unchanged whether all that this client has done to it is with the leader
     */
    PendingReadOpen open(long inode, boolean unchanged, long deadlineNanos) {
        PendingReadOpen open;
        FsException refused;
        synchronized (calls.lock) {
            ahead.used();
            OpensAhead.@Nullable Ahead found = ahead.take(inode, unchanged);
            if (found != null) {
                long number = held.merge(inode, found.number(), Math::max);
                open = new PendingReadOpen(inode, number, deadlineNanos);
                open.answered(found.attr(), session.id());
                return open;
            }
            open = new PendingReadOpen(inode, ++lastNumber, deadlineNanos);
            refused = session.over();
            if (refused == null && session.leader() != null && !session.reclaims()) {
                refused = unsupported();
            }
            if (refused == null) {
                pending.put(open.number(), open);
                if (phase == Phase.READY) {
                    send(open);
                }
            }
        }
        if (refused != null) {
            open.failed(refused);
        }
        return open;
    }

    private static FsException unsupported() {
        return new FsException(Errno.EOPNOTSUPP, "the metadata service counts all opens");
    }

    /**
     * Not waited for.
     *
     * @param in the session in which it was opened; nothing if that has ended
     * @param number of its newest open
     */
    void close(long in, long inode, long number) {
        synchronized (calls.lock) {
            if (session.id() != in || !held.remove(inode, number)) {
                return;
            }
            ahead.changed(inode); // look-ups before it may have found it open
            toClose(inode, number);
        }
    }

    /** Under the lock. */
    void toClose(long inode, long number) {
        toClose.merge(inode, number, Math::max);
        sendCloses();
    }

    // ---- opened by look-ups; under the lock

    /**
     * Has the look-up open what it finds, in this round.
     *
     * @return by that number; 0: there is none now
     */
    long openFound(LookupRequest.Builder lookup) {
        if (phase != Phase.READY) {
            return 0;
        }
        lookup.setOpenNumber(++lastNumber).setOpenTerm(session.term()).setOpenRound(round);
        return lastNumber;
    }

    /** Whether what was asked for with that number is open still. */
    boolean isOfRound(long number) {
        return number > lastOfEarlier;
    }

    /** Whether something was sent that has no answer. Under the lock. */
    boolean isWaiting() {
        return phase == Phase.RECLAIMING || !pending.isEmpty();
    }

    // ---- rounds

    /** A leader was found. Under the lock. */
    void connected() {
        if (session.reclaims()) {
            begin();
            return;
        }
        phase = Phase.AWAY;
        endRound();
        List<PendingReadOpen> waited = List.copyOf(pending.values());
        pending.clear();
        if (!waited.isEmpty()) {
            calls.later(0, () -> waited.forEach(open -> open.failed(unsupported())));
        }
    }

    /** The leader asks for what is open. Under the lock. */
    void asked() {
        if (phase == Phase.READY) {
            begin();
        }
    }

    /** Under the lock. */
    private void begin() {
        endRound();
        phase = Phase.RECLAIMING;
        closing = false;
        toClose.clear();
        List<ReadOpen> all = named(held);
        parts = Math.max(1, (all.size() + PART - 1) / PART);
        int count = parts;
        for (int part = 0; part < count; part++) {
            reclaim(
                    part,
                    all.subList(part * PART, Math.min(all.size(), (part + 1) * PART)),
                    part == count - 1);
        }
    }

    /** The leader goes on with what is reclaimed, and with nothing else. */
    private void endRound() {
        round++;
        lastOfEarlier = lastNumber;
        ahead.clear();
    }

    private static List<ReadOpen> named(Map<Long, Long> numbers) {
        List<ReadOpen> opens = new ArrayList<>(numbers.size());
        numbers.forEach((inode, number) ->
                opens.add(ReadOpen.newBuilder().setInode(inode).setNumber(number).build()));
        return opens;
    }

    private void reclaim(int part, List<ReadOpen> opens, boolean last) {
        RpcChannel to = session.leader();
        if (to == null) {
            phase = Phase.AWAY;
            return;
        }
        long sentRound = round;
        long sentEra = session.era();
        long sentIn = session.id();
        calls.call(
                to,
                Method.RECLAIM_OPENS,
                ReclaimOpensRequest.newBuilder()
                        .setSession(sentIn)
                        .setTerm(session.term())
                        .setRound(sentRound)
                        .addAllOpens(opens)
                        .setPart(part)
                        .setLast(last)
                        .build(),
                ReclaimOpensReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> {
                    if (status.ok()) {
                        reclaimed(sentRound);
                    } else {
                        failed(sentRound, sentEra, sentIn, status);
                    }
                });
    }

    private void reclaimed(long sentRound) {
        synchronized (calls.lock) {
            if (sentRound != round || --parts > 0) {
                return;
            }
            phase = Phase.READY;
            for (PendingReadOpen open : pending.values()) {
                send(open);
            }
            sendCloses();
        }
        session.healthy();
    }

    /**
     * Nothing of the round was taken for certain: the leader is looked for, who is told all of it
     * in the next one.
     */
    private void failed(long sentRound, long sentEra, long sentIn, RpcStatus status) {
        synchronized (calls.lock) {
            if (sentRound != round) {
                return;
            }
        }
        if (status.advice() == Advice.FENCED) {
            session.evicted(sentIn, status.detail());
        } else {
            session.lostLeader(sentEra, status);
        }
    }

    // ---- in a round

    /** Under the lock. */
    private void send(PendingReadOpen open) {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentRound = round;
        long sentEra = session.era();
        long sentIn = session.id();
        calls.call(
                to,
                Method.OPEN_FOR_READING,
                OpenForReadingRequest.newBuilder()
                        .setSession(sentIn)
                        .setTerm(session.term())
                        .setRound(sentRound)
                        .setInode(open.inode())
                        .setNumber(open.number())
                        .build(),
                OpenForReadingReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> opened(open, sentRound, sentEra, sentIn, status, reply));
    }

    private void opened(
            PendingReadOpen open,
            long sentRound,
            long sentEra,
            long sentIn,
            RpcStatus status,
            @Nullable OpenForReadingReply reply) {
        boolean refused = reply == null && status.advice() == Advice.GIVE_UP && !fatal(status);
        synchronized (calls.lock) {
            if (sentRound != round) {
                return; // it is repeated, or was
            }
            if (reply != null || refused) {
                pending.remove(open.number());
            }
            if (reply != null) {
                held.merge(open.inode(), open.number(), Math::max);
            }
        }
        if (reply != null) {
            open.answered(reply.getAttr(), sentIn);
            session.healthy();
        } else if (refused) {
            open.failed(status.toException());
        } else {
            failed(sentRound, sentEra, sentIn, status);
        }
    }

    private static boolean fatal(RpcStatus status) {
        return status.advice() == Advice.FENCED || status.unanswered();
    }

    /** Under the lock. */
    private void sendCloses() {
        RpcChannel to = session.leader();
        if (phase != Phase.READY || closing || toClose.isEmpty() || to == null) {
            return;
        }
        closing = true;
        CloseForReadingRequest.Builder request =
                CloseForReadingRequest.newBuilder()
                        .setSession(session.id())
                        .setTerm(session.term())
                        .setRound(round);
        for (Iterator<Map.Entry<Long, Long>> i = toClose.entrySet().iterator();
                i.hasNext() && request.getOpensCount() < PART; ) {
            Map.Entry<Long, Long> open = i.next();
            request.addOpens(
                    ReadOpen.newBuilder().setInode(open.getKey()).setNumber(open.getValue()));
            i.remove();
        }
        long sentRound = round;
        long sentEra = session.era();
        long sentIn = session.id();
        calls.call(
                to,
                Method.CLOSE_FOR_READING,
                request.build(),
                CloseForReadingReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> {
                    if (status.ok()) {
                        closed(sentRound);
                    } else {
                        failed(sentRound, sentEra, sentIn, status);
                    }
                });
    }

    private void closed(long sentRound) {
        synchronized (calls.lock) {
            if (sentRound == round) {
                closing = false;
                sendCloses();
            }
        }
    }

    // ---- the end

    /** The session has ended, and with it what was open; what is asked for goes to the next. */
    void ended() {
        endRound();
        phase = Phase.AWAY;
        closing = false;
        held.clear();
        toClose.clear();
    }

    /** Takes out what has no answer. Under the lock. */
    List<PendingReadOpen> clear() {
        ended();
        List<PendingReadOpen> all = List.copyOf(pending.values());
        pending.clear();
        return all;
    }

    /** Fails callers that are late. */
    void sweep(long nowNanos, FsException reason) {
        List<PendingReadOpen> late;
        synchronized (calls.lock) {
            ahead.sweep();
            late = pending.values().stream().filter(open -> open.isLate(nowNanos)).toList();
        }
        late.forEach(open -> open.late(reason));
    }
}
