package io.cairn.mds.lease;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.DelegationRecall;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReturnDelegationsReply;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files and directories that are delegated to the session that made them: until somebody else asks
 * for one, its session may answer its programs before what they did to the file, or to names in the
 * directory, is committed here.
 *
 * <pre>
 *   PROPOSED --create answered--> GRANTED --another session asks--> RECALLED --returned--> over
 *       '------another session asks------------------------------------------------------> over
 * </pre>
 *
 * <p>A delegation comes with the create, ends with the first look of another session or the last
 * close, and does not come back: so it is never acquired, and nobody who could use a file's number
 * has not asked for its attributes before, which is where it is recalled. The one exception, a
 * create that opens a file another session has just made, is followed by such a question.
 *
 * <p>In memory only. What a session did under an earlier leader it tells each new one before
 * anything else ({@link #returned}, with all); until then whatever it holds open, by the replicated
 * state, is taken for delegated to it. A session that is evicted loses what it has not told.
 *
 * <p>Any thread. Questions are asked again, and refused, outside of the monitor.
 */
public final class Delegations implements StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(Delegations.class);

    private static final long NEVER = Long.MAX_VALUE;

    /** A bound of memory: what is made beyond it is not delegated. */
    static final int MAX_OF_A_SESSION = 16_384;

    /** A recall may get lost with its connection. */
    static final long RECALL_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** Delegations that have ended and are remembered. */
    private static final int MAX_ENDED = 4_096;

    /** The longest a question is kept without an answer: clients take a silent leader for dead. */
    static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    /**
     * A session that others wait for, and that is not heard of for so long, at least, is evicted.
     */
    public static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(15);

    /** A query, or an open for reading, that may have to wait. */
    public interface Question {
        /** To be read anew, elsewhere: what it would be told has changed. */
        void again();

        /** It is not answered. */
        void refuse(RpcStatus status);
    }

    /** Where questions are read anew, and what that throws is said: not on the applying thread. */
    public interface Rereads {
        void run(Method method, RpcRequest request, long startNanos, Runnable work);
    }

    /**
     * What a question has to know of what was read for it: it may have been read just before a
     * session told something, and be judged just after. Of one question; whoever reads for it.
     */
    public static final class Look {
        /** {@link #endings} when it was read. */
        private long since;

        /** Inodes that no session of an earlier leader held open before it was read. */
        private Set<Long> closed = Set.of();

        /** Inodes whose writers have published what they wrote before they were asked for it. */
        final Set<Long> sized = new HashSet<>();
    }

    private static final class Delegation {
        final long session;
        boolean granted;

        /** When somebody asked for it first. */
        long recalledNanos = NEVER;

        /** When its session was told of that. */
        long toldNanos;

        Delegation(long session, boolean granted) {
            this.session = session;
            this.granted = granted;
        }
    }

    /** A question and what it waits for; it is asked again when all of that is over. */
    private static final class Parked {
        final Question question;
        final long untilNanos;
        final Set<Long> inodes = new HashSet<>();

        /** Sessions that have not told this leader what they did under another one. */
        final Set<Long> sessions = new HashSet<>();

        Parked(Question question, long untilNanos) {
            this.question = question;
            this.untilNanos = untilNanos;
        }

        boolean isFree() {
            return inodes.isEmpty() && sessions.isEmpty();
        }
    }

    private final ControlReader state;
    private final LeaseHolders holders;
    private final NanoClock clock;
    private final MdsMeters metrics;

    /** All under the monitor. */
    private final Map<Long, Delegation> delegations = new HashMap<>();

    /** What is delegated to each session. */
    private final Map<Long, Set<Long>> held = new HashMap<>();

    /** Of the sessions that have told this leader what they did before. */
    private final Map<Long, Long> rounds = new HashMap<>();

    /** Sessions that were there before this leader and have not told; since when they are asked. */
    private final Map<Long, Long> awaited = new TreeMap<>();

    /** Open sessions of older releases: while there is one, nothing is delegated. */
    private final Set<Long> others = new HashSet<>();

    private final List<Parked> parked = new ArrayList<>();

    /** The newest delegations that have ended, and as which; the oldest first. */
    private final LinkedHashMap<Long, Long> ended = new LinkedHashMap<>();

    /** Up to this one, any file may have been concerned. */
    private long endedUnnamed;

    /** Ends of delegations so far; changed under the monitor. */
    private volatile long endings;

    private long term;

    /** Whether anything might have to wait. */
    private volatile boolean any;

    public Delegations(
            ControlReader state, LeaseHolders holders, NanoClock clock, MdsMeters metrics) {
        this.state = state;
        this.holders = holders;
        this.clock = clock;
        this.metrics = metrics;
    }

    /** Files that are delegated, by this leader. */
    public synchronized int count() {
        return delegations.size();
    }

    // ---- the leader's term --------------------------------------------------

    /**
     * On becoming leader, before any request is taken.
     *
     * @param leaderTerm above 0
     */
    public void begin(long leaderTerm) {
        List<SessionRecord> before = state.sessions();
        synchronized (this) {
            forget();
            term = leaderTerm;
            for (SessionRecord session : before) {
                if (session.getEnding() || session.getRefused()) {
                    continue;
                }
                if (session.getDelegates()) {
                    awaited.put(session.getSession(), NEVER);
                } else {
                    others.add(session.getSession());
                }
            }
            noteAny();
        }
        // One may end meanwhile: either we see that, or we are told of it after this.
        for (SessionRecord session : before) {
            @Nullable SessionRecord now = state.session(session.getSession());
            if (now == null || now.getEnding() || now.getRefused()) {
                sessionEnded(session.getSession());
            }
        }
    }

    /** This member does not lead: what waits is refused. */
    public void end(RpcStatus status) {
        List<Parked> refused;
        synchronized (this) {
            refused = List.copyOf(parked);
            forget();
        }
        refused.forEach(p -> p.question.refuse(status));
    }

    private void forget() {
        delegations.clear();
        held.clear();
        rounds.clear();
        awaited.clear();
        others.clear();
        parked.clear();
        term = 0;
        noteEnd();
        noteAny();
    }

    /** Whatever was read for a question until now is read anew. */
    private void noteEnd() {
        endings++;
        endedUnnamed = endings;
        ended.clear();
    }

    private void noteEnd(long inode) {
        endings++;
        ended.putLast(inode, endings);
        if (ended.size() > MAX_ENDED) {
            endedUnnamed = ended.pollFirstEntry().getValue();
        }
    }

    private boolean hasEndedSince(long since, List<Long> inodes) {
        return since != endings
                && (since < endedUnnamed
                        || inodes.stream().anyMatch(i -> ended.getOrDefault(i, 0L) > since));
    }

    private void noteAny() {
        any = !delegations.isEmpty() || !awaited.isEmpty();
    }

    /** Whether the file is delegated to the session, or was by an earlier leader, perhaps. */
    public synchronized boolean mayBeOf(long session, long inode) {
        @Nullable Delegation delegation = delegations.get(inode);
        return awaited.containsKey(session)
                || (delegation != null && delegation.session == session);
    }

    // ---- delegating ---------------------------------------------------------

    /**
     * The session is about to make it; before its create is submitted. {@link #granted} follows, or
     * {@link #over}.
     *
     * @param answered whether programs were told that it is made, and used it since: they may in a
     *     directory that is delegated, where nobody sees it; so it is delegated whatever else holds
     */
    public synchronized void proposed(long session, long inode, boolean answered) {
        if (!answered && (!rounds.containsKey(session) || !others.isEmpty())) {
            return;
        }
        Set<Long> of = held.computeIfAbsent(session, s -> new HashSet<>());
        if (answered || of.size() < MAX_OF_A_SESSION) {
            of.add(inode);
            // A batch that is sent again proposes it again: somebody may wait for it by now.
            delegations.putIfAbsent(inode, new Delegation(session, answered));
            any = true;
        }
    }

    /**
     * The create has made it, and is answered now.
     *
     * @return the round in which it is delegated, for the answer; 0: it is not
     */
    public synchronized long granted(long session, long inode) {
        @Nullable Delegation delegation = delegations.get(inode);
        if (delegation == null || delegation.session != session) {
            return 0; // somebody asked for it meanwhile
        }
        delegation.granted = true;
        return round(session);
    }

    /** In which the session is now; 0: nothing is delegated to it. */
    public synchronized long round(long session) {
        return rounds.getOrDefault(session, 0L);
    }

    /** The session made no such file, or has closed it and told all of it. */
    public void over(long session, long inode) {
        List<Parked> free = new ArrayList<>();
        synchronized (this) {
            remove(session, inode, free);
            noteAny();
        }
        free.forEach(p -> p.question.again());
    }

    private void remove(long session, long inode, List<Parked> free) {
        @Nullable Delegation delegation = delegations.get(inode);
        if (delegation == null || delegation.session != session) {
            return;
        }
        delegations.remove(inode);
        if (delegation.granted) {
            noteEnd(inode);
        }
        @Nullable Set<Long> of = held.get(session);
        if (of != null) {
            of.remove(inode);
        }
        if (delegation.recalledNanos != NEVER) {
            unpark(p -> p.inodes.remove(inode), free);
        }
    }

    /** Takes out those that wait for nothing more, of those that this changes. */
    private void unpark(Predicate<Parked> change, List<Parked> free) {
        parked.removeIf(p -> change.test(p) && p.isFree() && free.add(p));
    }

    // ---- told by clients ----------------------------------------------------

    /** A session returns some of what was delegated to it, or all. On an event loop. */
    public void returned(RpcRequest request) {
        ReturnDelegationsRequest told =
                Heads.parse(ReturnDelegationsRequest.parser(), request.head());
        long session = told.getSession();
        List<Parked> free = new ArrayList<>();
        @Nullable RpcStatus refusal = null;
        synchronized (this) {
            if (term == 0 || told.getTerm() != term) {
                refusal = RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "another term");
            } else if (!holders.isOpen(session)) {
                refusal =
                        RpcStatus.fail(
                                Errno.ESTALE, Advice.FENCED, "session " + session + " is over");
            } else if (told.getAll()) {
                begin(session, told.getRound(), free);
            } else if (told.getRound() == rounds.getOrDefault(session, 0L)) {
                told.getInodesList().forEach(inode -> remove(session, inode, free));
            }
            noteAny();
        }
        if (refusal == null) {
            request.reply(ReturnDelegationsReply.getDefaultInstance());
        } else {
            request.fail(refusal);
        }
        free.forEach(p -> p.question.again());
    }

    /** An older round is one that was overtaken on its way. */
    private void begin(long session, long round, List<Parked> free) {
        @Nullable SessionRecord record = state.session(session);
        boolean delegates = record != null && record.getDelegates();
        if (!delegates || round <= rounds.getOrDefault(session, 0L)) {
            return;
        }
        removeAll(session, free);
        rounds.put(session, round);
    }

    private void removeAll(long session, List<Parked> free) {
        @Nullable Set<Long> of = held.remove(session);
        if (of != null) {
            noteEnd();
            of.forEach(delegations::remove);
            unpark(p -> p.inodes.removeAll(of), free);
        }
        if (awaited.remove(session) != null) {
            noteEnd();
            unpark(p -> p.sessions.remove(session), free);
        }
    }

    // ---- told by the state --------------------------------------------------

    @Override
    public void sessionOpened(long session) {
        @Nullable SessionRecord record = state.session(session);
        synchronized (this) {
            if (term != 0 && record != null && !record.getDelegates()) {
                others.add(session);
            }
        }
    }

    /** From now on nothing of what it did and has not told will ever be executed. */
    @Override
    public void sessionRefused(long session, long mapEpoch) {
        sessionEnded(session);
    }

    @Override
    public void sessionEnded(long session) {
        List<Parked> free = new ArrayList<>();
        synchronized (this) {
            removeAll(session, free);
            rounds.remove(session);
            others.remove(session);
            noteAny();
        }
        free.forEach(p -> p.question.again());
    }

    // ---- asked --------------------------------------------------------------

    /** Before anything is read for a question. */
    public void reading(Look look) {
        look.since = endings;
    }

    /**
     * After something was read: whether another session may know better; then that one is asked to
     * tell, and the question is asked again afterwards.
     *
     * @param asked its session is the one that asks; 0: whichever the peer is of
     */
    public boolean waits(
            @Nullable MessageLite asked,
            @Nullable MessageLite reply,
            RpcPeer peer,
            Look look,
            Question question) {
        return (any || look.since != endings)
                && asked != null
                && waits(LeasedReplies.borrower(asked), told(asked, reply), peer, look, question);
    }

    /** The inodes whose attributes, or names, an answer tells. */
    private static List<Long> told(MessageLite asked, @Nullable MessageLite reply) {
        return switch (asked) {
            case GetAttrRequest r -> List.of(r.getInode());
            case OpenForReadingRequest r -> List.of(r.getInode());
            case LookupRequest r when reply instanceof LookupReply found && found.hasAttr() ->
                    List.of(r.getParent(), found.getAttr().getInode());
            case LookupRequest r -> List.of(r.getParent());
            case ReadDirRequest r -> {
                List<Long> inodes = new ArrayList<>();
                inodes.add(r.getInode());
                if (reply instanceof ReadDirReply listed) {
                    listed.getEntriesList().stream()
                            .filter(DirEntry::hasAttr)
                            .forEach(entry -> inodes.add(entry.getInode()));
                }
                yield inodes;
            }
            default -> List.of();
        };
    }

    private boolean waits(
            long session, List<Long> inodes, RpcPeer peer, Look look, Question question) {
        List<Long> candidates = untold(session, peer);
        Set<Long> untold = holding(candidates, inodes);
        // What closed it may have been executed after it was read and before we looked.
        boolean closed = candidates.isEmpty() || look.closed.containsAll(inodes);
        if (!closed && untold.isEmpty()) {
            look.closed = Set.copyOf(inodes);
        }
        long now = clock.nanos();
        Parked waits = new Parked(question, now + MAX_WAIT_NANOS);
        Map<Long, List<Long>> recalls = new HashMap<>();
        synchronized (this) {
            for (long inode : inodes) {
                @Nullable Delegation delegation = delegations.get(inode);
                if (delegation == null || isOf(delegation.session, session, peer)) {
                    continue;
                }
                if (!delegation.granted) {
                    remove(delegation.session, inode, new ArrayList<>()); // nobody waits for it
                    continue;
                }
                waits.inodes.add(inode);
                if (delegation.recalledNanos == NEVER) {
                    delegation.recalledNanos = now;
                    delegation.toldNanos = now;
                    recalls.computeIfAbsent(delegation.session, s -> new ArrayList<>()).add(inode);
                }
            }
            for (long other : untold) {
                if (awaited.computeIfPresent(other, (s, since) -> Math.min(since, now)) != null) {
                    waits.sessions.add(other);
                }
            }
            noteAny();
            // Who returns it has published all that it wrote before it was asked.
            recalls.values().forEach(look.sized::addAll);
            if (!waits.isFree()) {
                parked.add(waits);
            } else if (closed && untold.isEmpty() && !hasEndedSince(look.since, inodes)) {
                return false;
            }
        }
        recalls.forEach(this::push);
        metrics.delegationWaited();
        if (waits.isFree()) {
            question.again(); // they have told meanwhile: perhaps after this was read
        }
        return true;
    }

    /** Other sessions that have told this leader nothing yet. */
    private List<Long> untold(long session, RpcPeer peer) {
        List<Long> untold;
        synchronized (this) {
            if (awaited.isEmpty()) {
                return List.of();
            }
            untold = new ArrayList<>(awaited.keySet());
        }
        untold.removeIf(other -> isOf(other, session, peer));
        return untold;
    }

    private Set<Long> holding(List<Long> sessions, List<Long> inodes) {
        Set<Long> holding = new HashSet<>();
        for (long session : sessions) {
            if (inodes.stream().anyMatch(i -> state.openCount(session, i) > 0)) {
                holding.add(session);
            }
        }
        return holding;
    }

    private boolean isOf(long holder, long session, RpcPeer peer) {
        return session != 0 ? holder == session : peer.equals(holders.peer(holder));
    }

    private void push(long session, List<Long> inodes) {
        metrics.delegationsRecalled(inodes.size());
        @Nullable RpcPeer peer = holders.peer(session);
        if (peer == null) {
            return; // it is told again when it is heard of
        }
        DelegationRecall recall =
                DelegationRecall.newBuilder().setSession(session).addAllInodes(inodes).build();
        try {
            peer.push(Method.DELEGATION_RECALL_VALUE, recall);
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.warn("session {} is asked later to return {} files", session, inodes.size(), e);
        }
    }

    // ---- duties -------------------------------------------------------------

    /** Recalls again what somebody waits for, and refuses who has waited long. */
    public void tick() {
        long now = clock.nanos();
        List<Parked> late = new ArrayList<>();
        Map<Long, List<Long>> recalls = new HashMap<>();
        synchronized (this) {
            parked.removeIf(p -> p.untilNanos - now <= 0 && late.add(p));
            for (Parked p : parked) {
                for (long inode : p.inodes) {
                    @Nullable Delegation delegation = delegations.get(inode);
                    if (delegation != null && now - delegation.toldNanos >= RECALL_AGAIN_NANOS) {
                        delegation.toldNanos = now;
                        recalls.computeIfAbsent(delegation.session, s -> new ArrayList<>())
                                .add(inode);
                    }
                }
            }
        }
        recalls.forEach(this::push);
        late.forEach(p ->
                p.question.refuse(
                        RpcStatus.fail(
                                Errno.EAGAIN,
                                Advice.RETRY,
                                "another session has yet to tell what it did to the file")));
    }

    /**
     * Sessions that somebody has asked for what they did, and that have not been heard of for so
     * long that they are to be evicted.
     */
    public Set<Long> silent(long silenceNanos) {
        long now = clock.nanos();
        Set<Long> silent = new HashSet<>();
        synchronized (this) {
            delegations
                    .values()
                    .forEach(d -> {
                        if (isSilent(d.session, d.recalledNanos, now, silenceNanos)) {
                            silent.add(d.session);
                        }
                    });
            awaited.forEach((session, asked) -> {
                if (isSilent(session, asked, now, silenceNanos)) {
                    silent.add(session);
                }
            });
        }
        return silent;
    }

    private boolean isSilent(long session, long askedNanos, long now, long silenceNanos) {
        return askedNanos != NEVER && holders.isSilent(session, askedNanos, now, silenceNanos);
    }
}
