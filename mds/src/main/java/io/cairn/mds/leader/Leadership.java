package io.cairn.mds.leader;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberStatus;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.raft.LogUnavailableException;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig;
import io.cairn.mds.raft.MetaLogListener;
import io.cairn.mds.raft.RaftMembership;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether this member leads, and whether it may answer.
 *
 * <pre>
 *             elected, earlier entries applied       earlier leases over, own lease held
 *   FOLLOWING ─────────────────────────────▶ LEADING ───────────────────────────────▶ (serving)
 *       ▲                                       │                                        │
 *       └───────────────────────────────────────┴──────────── lost ──────────────────────┘
 * </pre>
 *
 * <p>Any thread. The {@link Duties} of a leader begin and end on the control thread.
 */
public final class Leadership implements MetaLogListener {
    private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);

    /** A busy machine is not a missing one. */
    private static final long LEAST_SILENCE_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** What only a leader does; begun and ended in turn, on the control thread. */
    public interface Duties {
        void begin(Term term);

        void end();
    }

    /** Told of what the process must not survive. */
    public interface FailureHandler {
        void failed(String reason, Throwable cause);
    }

    /** One term in which this member leads. */
    public record Term(long number, LeaderLease lease) {}

    private final int self;
    private final List<MdsMember> configured;
    private final LongSupplier leaseNanos;
    private final BooleanSupplier everLent;
    private final NanoClock clock;
    private final Control control;
    private final FailureHandler failures;
    private final EntryLog entries;
    private final EarlierLeases earlier;

    private volatile @Nullable Term term;

    /** The term whose duties have begun: before that, sessions are not known yet. */
    private volatile @Nullable Term opened;

    private @Nullable Duties duties;

    /**
     * @param configured the members of a new group
     * @param leaseNanos the leader's lease by the state as it is applied here
     * @param everLent whether there can be clients that believe what an earlier leader told
     */
    public Leadership(
            int self,
            List<MdsMember> configured,
            LongSupplier leaseNanos,
            BooleanSupplier everLent,
            NanoClock clock,
            Control control,
            EntryLog entries,
            FailureHandler failures) {
        this.self = self;
        this.configured = configured;
        this.leaseNanos = leaseNanos;
        this.everLent = everLent;
        this.clock = clock;
        this.control = control;
        this.entries = entries;
        this.failures = failures;
        this.earlier = new EarlierLeases(clock.nanos());
    }

    /** Once the log runs and the duties can begin; an election before this counts too. */
    public synchronized void attach(Duties duties) {
        this.duties = duties;
        @Nullable Term present = term;
        if (present != null) {
            control.execute(() -> duties.begin(present));
        }
    }

    /** The duties of the term have begun: requests can be answered. */
    public synchronized void open(Term begun) {
        if (begun.equals(term)) {
            opened = begun;
        }
    }

    // ---- told by the log ----------------------------------------------------

    @Override
    public synchronized void becameLeader(long number) {
        // All entries of earlier terms are applied: no earlier leader uses a longer lease.
        Term now = new Term(number, begun(number, leaseNanos.getAsLong(), clock.nanos()));
        term = now;
        LOG.info("member {} leads in term {}", self, number);
        @Nullable Duties d = duties;
        if (d != null) {
            control.execute(() -> d.begin(now));
        }
    }

    private LeaderLease begun(long number, long leaseNanos, long nowNanos) {
        List<MdsMember> members = members();
        LeaderLease lease =
                new LeaderLease(members.size(), leaseNanos, nowNanos, everLent.getAsBoolean());
        long ownEarlier = earlier.lead(number, nowNanos);
        Set<Integer> voters = voters();
        earlier.members(voters, nowNanos);
        if (earlier.settled(voters, lease.fullWaitNanos(), nowNanos)) {
            lease.voters(voters.stream().filter(id -> id != self).collect(Collectors.toSet()));
            lease.ownEarlier(ownEarlier);
        }
        return lease;
    }

    @Override
    public synchronized void lostLeadership() {
        @Nullable Term before = term;
        term = null;
        opened = null;
        @Nullable Duties d = duties;
        if (before != null) {
            LOG.info("member {} no longer leads", self);
            if (d != null) {
                control.execute(d::end);
            }
        }
    }

    @Override
    public void leaderChanged(int leader) {
        LOG.info("member {} sees member {} lead", self, leader);
    }

    @Override
    public void configured(Set<Integer> voters) {
        earlier.members(voters, clock.nanos());
    }

    @Override
    public void failed(String reason, Throwable cause) {
        failures.failed(reason, cause);
    }

    // ---- asked by the leader --------------------------------------------------

    /** As {@link EarlierLeases#grant}: this member may still be in the term, and votes. */
    OptionalLong grant(MetaLog log, long asking) {
        earlier.members(voters(), clock.nanos());
        return earlier.grant(asking, () -> log.votes() && log.term() == asking, clock);
    }

    /** Who votes by this member's log; empty while that is being changed. */
    private Set<Integer> voters() {
        @Nullable MetaLog log = entries.log();
        if (log == null) {
            return Set.of();
        }
        RaftMembership.Group group = log.membership().group();
        return group.changing()
                ? Set.of()
                : group.members().stream()
                        .map(MetaLogConfig.Member::id)
                        .collect(Collectors.toUnmodifiableSet());
    }

    // ---- asked by requests --------------------------------------------------

    /** The term in which this member leads now, null if it does not lead. */
    public @Nullable Term term() {
        @Nullable Term t = term;
        @Nullable MetaLog log = entries.log();
        return t != null && log != null && log.isLeader() && log.term() == t.number ? t : null;
    }

    /**
     * Why this member may not accept a request or send an answer now; null if it may. For a read
     * this is asked after its data was fetched.
     */
    public @Nullable RpcStatus refusal() {
        @Nullable Term t = term();
        if (t == null) {
            return notLeading();
        }
        if (!t.equals(opened) || !t.lease.valid(clock.nanos())) {
            return RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "the leader has no contact to a majority yet");
        }
        return null;
    }

    /** As {@link LeaderLease#leftNanos}; 0 where this member may not answer now. */
    public long leaseLeftNanos() {
        @Nullable Term t = term();
        return t == null || !t.equals(opened) ? 0 : t.lease.leftNanos(clock.nanos());
    }

    /** What is answered where this member does not lead: who does. */
    public RpcStatus notLeading() {
        return RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leaderAddress());
    }

    /**
     * Why this member may not accept a mutation now; null if it may. Mutations need no lease, as
     * the commit shows that this member leads; but earlier leaders' leases must be over.
     */
    public @Nullable RpcStatus refusalOfMutation() {
        @Nullable Term t = term();
        if (t == null) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leaderAddress());
        }
        if (!t.equals(opened) || clock.nanos() - t.lease.servingFromNanos() < 0) {
            return RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "an earlier leader's lease may still run");
        }
        return null;
    }

    /** What a client is told when an entry was not certainly committed. */
    public RpcStatus unavailable(Throwable failure) {
        Throwable cause = Causes.of(failure);
        if (cause instanceof LogUnavailableException e && !e.overloaded()) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leaderAddress());
        }
        if (cause instanceof IllegalArgumentException) {
            return RpcStatus.fail(Errno.EINVAL, String.valueOf(cause.getMessage()));
        }
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, String.valueOf(cause.getMessage()));
    }

    /** Cairn's address of the leader as far as known here, else empty. */
    public String leaderAddress() {
        int leader = leader();
        if (leader == self) {
            return "";
        }
        return members().stream()
                .filter(m -> m.getId() == leader)
                .map(MdsMember::getAddress)
                .findFirst()
                .orElse("");
    }

    /** Member id, 0 if none is known here. */
    public int leader() {
        @Nullable MetaLog log = entries.log();
        return log == null ? 0 : log.leader();
    }

    /** The newest term this member knows. */
    public long newestTerm() {
        @Nullable MetaLog log = entries.log();
        return log == null ? 0 : log.term();
    }

    /** How long ago each member of the group answered, while this one leads; else empty. */
    public List<MemberStatus> memberStatus() {
        @Nullable Term t = term();
        if (t == null) {
            return List.of();
        }
        long now = clock.nanos();
        return members().stream().map(m -> memberStatus(t.lease, m.getId(), now)).toList();
    }

    private MemberStatus memberStatus(LeaderLease lease, int member, long nowNanos) {
        if (member == self) {
            return MemberStatus.newBuilder().setId(member).setHeard(true).build();
        }
        OptionalLong granted = lease.lastGrantedNanos(member);
        long since = nowNanos - granted.orElse(lease.bornNanos());
        return MemberStatus.newBuilder()
                .setId(member)
                .setHeard(granted.isPresent())
                .setSinceHeardMillis(Math.max(0, since) / 1_000_000)
                .build();
    }

    /** How long a member may be silent before it counts as missing: some lease terms. */
    public long silenceNanos() {
        return Math.max(LEAST_SILENCE_NANOS, 3 * leaseNanos.getAsLong());
    }

    /** Whether a member that this leader has not heard of may be there all the same. */
    boolean isNew() {
        @Nullable Term t = term();
        return t != null && clock.nanos() - t.lease.bornNanos() < silenceNanos();
    }

    public int self() {
        return self;
    }

    /** The members, as this member's log has it. */
    public List<MdsMember> members() {
        @Nullable MetaLog log = entries.log();
        return log == null
                ? configured
                : log.membership().group().members().stream().map(GroupMembers::toProto).toList();
    }
}
