package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledReply;
import io.cairn.common.proto.ReadRecalledRequest;
import io.cairn.common.proto.RecalledName;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.LeaderLease;
import io.cairn.mds.lease.ReadRecalling.Recall;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.store.EntryKeys;
import io.cairn.mds.store.EntryKeys.Move;
import io.cairn.mds.store.EntryWatcher;
import io.cairn.mds.store.MetaStore.EntryKey;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lends names and attributes to sessions for as long as this leader is certain to be the only one,
 * and has them forgotten before a change is told to anybody else. In memory only: every lease ends
 * with the leader's own, so whoever leads next has waited for all of them ({@code LeaderLease}).
 *
 * <p>Why no session believes what is older than what another one was told:
 *
 * <ul>
 *   <li>What is lent was read. An entry that changes it marks it ({@link ChangedKeys}) before it
 *       looks for holders, and a lease is in the table before it looks for the mark: one of the two
 *       sees the other.
 *   <li>The entry opens recalls of all holders before its effect can be seen. Every answer that
 *       tells of it, be it of a query, of the entry itself, or of a later one that it made fail,
 *       looks for open recalls after it has read, and waits.
 *   <li>A recall is over when the session has forgotten, or when by this clock everything that it
 *       was lent has run out. Sessions are told a shorter time than is kept.
 * </ul>
 *
 * <p>Queries: any thread. Acknowledgements: event loops. Entries: the applying thread. The rest:
 * the control thread.
 */
public final class ReadLeases implements EntryWatcher, StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(ReadLeases.class);

    /** A lease at most. */
    static final long MAX_TERM_NANOS = LeaderLease.MAX_LOAN_NANOS;

    /** Sessions are told less than is kept: their clocks may be slower, and kernels round. */
    static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /**
     * For how long kernels may believe what sessions answer of what is delegated to them, of which
     * no lease tells; 50 ms more than sessions count with, for what is on its way.
     */
    static final long DELEGATED_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    static final long NAMES_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long ATTRIBUTES_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Of all sessions: some 100 MB. */
    private static final int MAX_LEASES = 1 << 20;

    /** Numbers of recalls in one term; terms ascend, so numbers of all leaders do. */
    private static final int NUMBER_BITS = 36;

    /** Runs something after a time. */
    public interface Alarm {
        void after(long delayNanos, Runnable task);
    }

    /** Whether a directory is, or may be, delegated to a session. */
    public interface Delegated {
        boolean mayBeOf(long session, long inode);
    }

    /** Says why this member may not answer. */
    public interface Refusal {
        RpcStatus status();
    }

    private final LongSupplier leaderLeaseLeft;
    private final Refusal refusal;
    private final LeaseHolders holders;
    private final Delegated delegated;
    private final Alarm alarm;
    private final NanoClock clock;
    private final MdsMeters metrics;

    private final LeaseTable table = new LeaseTable(MAX_LEASES);
    private final ChangedKeys changed = new ChangedKeys();
    private final ReadRecalling recalling = new ReadRecalling();
    private final LeasePauses pauses = new LeasePauses();

    /** Sessions whose eviction is not over: what they were lent they may believe to its end. */
    private final Set<Long> evicted = ConcurrentHashMap.newKeySet();

    private volatile boolean leading;

    /** Entries up to this one may have waited for recalls that are not known any more. */
    private volatile long forgottenUpTo;

    /** Of the entry that is shown next, what the session holds by renames. The applying thread. */
    private final Map<Long, Long> moved = new HashMap<>();

    /** The entry that is shown next, or was last. */
    private volatile long showing;

    /** Of the recalls; raised by the applying thread while this member leads. */
    private final AtomicLong lastNumber = new AtomicLong();

    /**
     * @param leaderLeaseLeft for how long no other leader can acknowledge anything, in nanoseconds;
     *     0: not at all
     * @param refusal asked where this member does not lead
     */
    public ReadLeases(
            LongSupplier leaderLeaseLeft,
            Refusal refusal,
            LeaseHolders holders,
            Delegated delegated,
            Alarm alarm,
            NanoClock clock,
            MdsMeters metrics) {
        this.leaderLeaseLeft = leaderLeaseLeft;
        this.refusal = refusal;
        this.holders = holders;
        this.delegated = delegated;
        this.alarm = alarm;
        this.clock = clock;
        this.metrics = metrics;
    }

    /** Leases that sessions hold, roughly. */
    public int held() {
        return table.size();
    }

    // ---- lending ------------------------------------------------------------

    /** Before something is read that is to be lent: what {@link #loan} is given. */
    public long begin() {
        return changed.shown();
    }

    /**
     * What one answer lends.
     *
     * @param since what {@link #begin} said, or the index of the entry that is answered
     * @return null where nothing can be lent
     */
    @Nullable Loan loan(long session, long since) {
        long now = clock.nanos();
        long kept = Math.min(leaderLeaseLeft.getAsLong(), MAX_TERM_NANOS);
        long told = kept - SLACK_NANOS;
        return told <= 0 || !leading || !holders.isOpen(session)
                ? null
                : new Loan(session, since, now, now + kept, (int) (told / 1000));
    }

    /** Leases of one answer. One thread. */
    final class Loan {
        private final long session;
        private final long since;
        private final long nowNanos;
        private final long untilNanos;
        private final int toldMicros;
        private int granted;

        private Loan(long session, long since, long nowNanos, long untilNanos, int toldMicros) {
            this.session = session;
            this.since = since;
            this.nowNanos = nowNanos;
            this.untilNanos = untilNanos;
            this.toldMicros = toldMicros;
        }

        long session() {
            return session;
        }

        /** For how long the inode's attributes may be believed, in microseconds; 0: not at all. */
        int attributes(long inode) {
            return grant(LeaseTable.attributes(inode), RecallKey.attributes(inode));
        }

        /** For how long the names of the directory may be believed, in microseconds. */
        int names(long directory) {
            return grant(LeaseTable.names(directory), RecallKey.anyName(directory));
        }

        private int grant(long key, RecallKey recalled) {
            boolean lent =
                    !pauses.paused(key, session, nowNanos)
                            && !(recalling.any() && recalling.isOpen(recalled))
                            && table.add(
                                    key,
                                    session,
                                    untilNanos,
                                    nowNanos,
                                    () -> changed.unchangedSince(key, since));
            if (lent) {
                granted++;
            }
            return lent ? toldMicros : 0;
        }

        /** Whether it may be told: not to a session that has ended meanwhile. */
        boolean end() {
            metrics.leasesGranted(granted);
            return holders.isOpen(session);
        }
    }

    /** Whether the session has asked for leases. */
    boolean borrows(long session) {
        return holders.borrows(session);
    }

    /** The session asks for leases. */
    void borrowing(long session, RpcPeer peer) {
        holders.borrowing(session, peer);
    }

    // ---- waiting ------------------------------------------------------------

    /** Whether any answer has to wait. */
    boolean recalls() {
        return recalling.any();
    }

    /**
     * After something was read: whether what it shows is not to be told yet; then the answer is
     * sent later.
     *
     * @param session that asks; 0: whichever the peer is of
     */
    boolean waits(long session, RpcPeer peer, Collection<RecallKey> keys, WaitingAnswer answer) {
        boolean waits = recalling.waits(session, peer, keys, answer);
        if (waits) {
            metrics.leaseWaited();
        }
        return waits;
    }

    /** Sends the answer of an entry, now or when everybody has forgotten what it changed. */
    public void whenForgotten(long index, WaitingAnswer answer) {
        if (recalling.waits(index, answer)) {
            metrics.leaseWaited();
        } else if (!leading || index <= forgottenUpTo) {
            // Perhaps it had to wait. Asked again, whoever leads has waited for the leases.
            answer.refuse(refusal.status());
        } else {
            answer.send();
        }
    }

    /** A session has forgotten. On an event loop. */
    public void recalled(RpcRequest request) {
        ReadRecalledRequest told = Heads.parse(ReadRecalledRequest.parser(), request.head());
        recalling.acknowledged(told.getSession(), told.getNumbersList());
        request.reply(ReadRecalledReply.getDefaultInstance());
    }

    // ---- told by the state --------------------------------------------------

    @Override
    public boolean wantsReads() {
        return recalling.any();
    }

    @Override
    public void showing(long index, long session, EntryKeys entry) {
        showing = index;
        for (long inode : entry.changedInodes()) {
            changed.changing(LeaseTable.attributes(inode), index);
        }
        for (EntryKey name : entry.changedNames()) {
            changed.changing(LeaseTable.names(name.directory()), index);
        }
        if (!leading) {
            return;
        }
        if (table.size() > 0) {
            recall(session, entry);
        }
        if (recalling.any()) {
            recalling.entryWaits(index, session, entry.repeatsAnswers() ? null : answered(entry));
        }
        // The kernel's entry keeps its time under its new name.
        for (Move move : entry.moves()) {
            table.visit(
                    LeaseTable.names(move.from()),
                    clock.nanos(),
                    (holder, until) -> {
                        if (holder == session) {
                            moved.put(LeaseTable.names(move.to()), until);
                        }
                    });
        }
        if (!moved.isEmpty()) {
            moved.forEach((key, until) -> table.addInAnyCase(key, session, until));
            moved.clear();
        }
        for (Move move : entry.moves()) {
            if (delegated.mayBeOf(session, move.from())) {
                long until = clock.nanos() + DELEGATED_NANOS;
                table.addInAnyCase(LeaseTable.names(move.to()), session, until);
                for (long inode : entry.changedInodes()) {
                    table.addInAnyCase(LeaseTable.attributes(inode), session, until);
                }
            }
        }
    }

    @Override
    public void shown(long index) {
        changed.shown(index);
    }

    private static List<RecallKey> changedKeys(EntryKeys entry) {
        List<RecallKey> keys = new ArrayList<>();
        entry.changedInodes().forEach(inode -> keys.add(RecallKey.attributes(inode)));
        entry.changedNames().forEach(n -> keys.add(RecallKey.name(n.directory(), n.name())));
        return keys;
    }

    private static List<RecallKey> answered(EntryKeys entry) {
        List<RecallKey> keys = changedKeys(entry);
        entry.readInodes().forEach(inode -> keys.add(RecallKey.attributes(inode)));
        entry.readNames().forEach(n -> keys.add(RecallKey.name(n.directory(), n.name())));
        return keys;
    }

    private void recall(long maker, EntryKeys entry) {
        long now = clock.nanos();
        Map<Long, Recall> recalls = new HashMap<>();
        for (long inode : entry.changedInodes()) {
            recallAttributes(maker, inode, entry, now, recalls);
        }
        for (EntryKey name : entry.changedNames()) {
            long key = LeaseTable.names(name.directory());
            // Its other names they go on believing: the lease stays, for the next recall.
            table.visit(
                    key,
                    now,
                    (session, until) -> {
                        if (session != maker) {
                            recallOf(recalls, session, until)
                                    .add(RecallKey.name(name.directory(), name.name()), until);
                            pauses.pause(key, now + NAMES_PAUSE_NANOS, maker, now);
                        }
                    });
        }
        if (!recalls.isEmpty()) {
            recalling.open(recalls.values(), changedKeys(entry));
            recalls.values().forEach(this::push);
            alarm(recalls.values(), now);
        }
    }

    private void recallAttributes(
            long maker, long inode, EntryKeys entry, long now, Map<Long, Recall> recalls) {
        long key = LeaseTable.attributes(inode);
        Map<Long, Long> untils = new HashMap<>(2);
        table.visit(key, now, untils::put);
        if (untils.isEmpty() || !entry.changesAttributes(inode)) {
            return;
        }
        table.remove(key);
        @Nullable Long makers = untils.remove(maker);
        if (makers != null) {
            // It forgets what it changes with the answer; who changes it before that asks it to.
            table.addInAnyCase(key, maker, makers);
        }
        untils.forEach((session, until) -> {
            recallOf(recalls, session, until).add(RecallKey.attributes(inode), until);
            pauses.pause(key, now + ATTRIBUTES_PAUSE_NANOS, maker, now);
        });
    }

    private Recall recallOf(Map<Long, Recall> recalls, long session, long until) {
        return recalls.computeIfAbsent(
                session, s -> new Recall(lastNumber.incrementAndGet(), s, holders.peer(s), until));
    }

    private void push(Recall recall) {
        metrics.leaseRecalled();
        @Nullable RpcPeer peer = recall.peer;
        if (peer == null) {
            return; // it was evicted, or is on its way here: its time runs out
        }
        ReadRecall.Builder message =
                ReadRecall.newBuilder().setSession(recall.session).setNumber(recall.number);
        for (RecallKey key : recall.keys) {
            @Nullable ByteString name = key.name();
            if (name == null) {
                message.addInodes(key.inode());
            } else {
                message.addNames(RecalledName.newBuilder().setDirectory(key.inode()).setName(name));
            }
        }
        try {
            peer.push(Method.READ_RECALL_VALUE, message.build());
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.warn("session {} is not asked to forget: its time runs out", recall.session, e);
        }
    }

    /** One for all recalls of an entry, at each time at which one of them ends by itself. */
    private void alarm(Collection<Recall> recalls, long now) {
        Set<Long> times = new HashSet<>();
        for (Recall recall : recalls) {
            if (times.add(recall.untilNanos)) {
                alarm.after(recall.untilNanos - now, this::expire);
            }
        }
    }

    private void expire() {
        metrics.leaseRecallsLate(recalling.expire(clock.nanos()));
    }

    @Override
    public void sessionRefused(long session, long mapEpoch) {
        evicted.add(session);
    }

    /** A client that closes its session has nothing left that believes anything. */
    @Override
    public void sessionEnded(long session) {
        if (!evicted.remove(session) && leading) {
            table.removeSession(session);
            recalling.ended(session);
        }
    }

    // ---- duties -------------------------------------------------------------

    /** On becoming leader, before anything is answered. */
    public void begin(long term) {
        forgottenUpTo = Long.MAX_VALUE;
        forget();
        lastNumber.accumulateAndGet(term << NUMBER_BITS, Math::max);
        leading = true;
        // After it: an entry that was shown while this was not yet so is not above it.
        forgottenUpTo = showing;
    }

    public void tick() {
        expire();
        table.sweep(clock.nanos());
    }

    /** This member leads no more. */
    public void end() {
        leading = false; // first: an answer that does not find what it waited for sees this
        forget();
    }

    private void forget() {
        recalling.clear(refusal.status());
        table.clear();
    }
}
