package io.cairn.mds.leader;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a leader may answer reads without asking anybody: a majority of the group was in
 * its term after a moment that lies less than one lease ago (docs/architecture/metadata.md, Reads).
 *
 * <p>The other half of the argument: a new leader acknowledges nothing, and answers no reads,
 * before {@link #NEW_LEADER_FACTOR} times the lease has passed since its election. If an old
 * leader's lease is valid, a majority was in its term after the ping was sent. The majority that
 * elected the new leader intersects that one and voted later. So the new leader was elected after
 * the ping was sent, and answers only after the old lease has ended. The factor covers clocks that
 * drift against each other by up to 2 %.
 *
 * <p>It need not wait so long if a majority, this member included, says when it last granted to
 * earlier leaders ({@link EarlierLeases}): one of these has granted the old lease, after the ping
 * was sent, and grants to no earlier term any more. What has passed since then is measured on that
 * member's clock, and may be less on the old leader's: it counts for {@link #NEW_LEADER_FACTOR}
 * less.
 *
 * <p>No threads, clock or I/O: times come in, on one monotonic clock that counts suspended time too
 * (CLOCK_BOOTTIME). Any thread.
 */
public final class LeaderLease {
    static final double NEW_LEADER_FACTOR = 1.02;

    /** The longest that a client may be told to believe something. */
    public static final long MAX_LOAN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final long bornNanos;

    /** When what an earlier process has lent is over; for a leader that is alone. */
    private final long loansOverNanos;

    /** Until when what was granted just before this member became leader may last. */
    private final long fullWaitNanos;

    /** When leases of earlier leaders are over; only ever replaced by an earlier time. */
    private volatile long earlierOverNanos;

    /** When what this member itself granted to earlier leaders is over. */
    private long ownOverNanos;

    /** Whether the members are those of when this one became leader. */
    private boolean sameVoters = true;

    /** When what others granted to earlier leaders is over, as far as they have told. */
    private final Map<Integer, Long> grantsOver = new HashMap<>();

    private final Map<Integer, Long> lastGranted = new HashMap<>();

    /** Members of the group besides this one. */
    private volatile int others;

    /** Their ids; null: whoever grants is one. */
    private @Nullable Set<Integer> voters;

    /** The group's, or less while a shorter one is being agreed on. */
    private volatile long leaseNanos;

    /** A time the lease runs from; only ever replaced by a later one. */
    private volatile long majoritySince;

    private volatile boolean everMajority;

    /** When what was lent under a longer lease than now is over. */
    private long longerOverNanos;

    /** Of a leader that, if it is alone, has no earlier one to wait for. */
    public LeaderLease(int groupSize, long leaseNanos, long bornNanos) {
        this(groupSize, leaseNanos, bornNanos, false);
    }

    /**
     * @param groupSize members of the group, this one included
     * @param leaseNanos the group's when this member became leader; no earlier leader has a longer
     *     one that may still run
     * @param bornNanos when this member became leader
     * @param afterLoans whether an earlier leader may have told clients what they may believe for
     *     the time of its lease. A group of one has no other to be contradicted by, but it may have
     *     been started anew
     */
    public LeaderLease(int groupSize, long leaseNanos, long bornNanos, boolean afterLoans) {
        this.others = groupSize - 1;
        this.leaseNanos = leaseNanos;
        this.bornNanos = bornNanos;
        long lent = afterLoans ? Math.min(leaseNanos, MAX_LOAN_NANOS) : 0;
        this.loansOverNanos = bornNanos + (long) (lent * NEW_LEADER_FACTOR);
        this.longerOverNanos = bornNanos;
        this.fullWaitNanos = (long) (leaseNanos * NEW_LEADER_FACTOR);
        this.earlierOverNanos = bornNanos + fullWaitNanos;
        this.ownOverNanos = earlierOverNanos;
    }

    /**
     * The group is this member and these from now on; grants of others count once they are of it.
     * It differs from the one before by one member at most: any majority of one meets any of the
     * other, so the lease holds for both.
     */
    public synchronized void voters(Set<Integer> others) {
        sameVoters &= voters == null ? others.size() == this.others : others.equals(voters);
        this.voters = Set.copyOf(others);
        this.others = others.size();
        count();
    }

    /** How long reads may be answered after a majority was last with this leader. */
    long leaseNanos() {
        return leaseNanos;
    }

    /**
     * Another length counts from now on. A shorter one before it is logged: from then on a new
     * leader may wait for that only. A longer one after it was applied: only then every new leader
     * waits for it.
     */
    synchronized void use(long nanos, long nowNanos) {
        long before = leaseNanos;
        leaseNanos = nanos;
        if (nanos < before) {
            // Whoever has read the longer one has read the time before.
            long over = nowNanos + Math.min(before, MAX_LOAN_NANOS);
            longerOverNanos = over - longerOverNanos > 0 ? over : longerOverNanos;
        }
    }

    /** Whether what was lent under a longer lease than the present one is over. */
    synchronized boolean longerOver(long nowNanos) {
        return nowNanos - longerOverNanos >= 0;
    }

    /**
     * A member has answered that it was in this leader's term.
     *
     * @param sentNanos when the ping that it answers was sent
     */
    public synchronized void granted(int member, long sentNanos) {
        lastGranted.merge(member, sentNanos, (a, b) -> b - a > 0 ? b : a);
        count();
    }

    /**
     * This member last granted to an earlier leader so long before it became leader. Not to be told
     * if the members may have been others shortly before.
     */
    public synchronized void ownEarlier(long agoNanos) {
        ownOverNanos = over(agoNanos, bornNanos);
        countEarlier();
    }

    /**
     * A member that is in this leader's term has told when it last granted to an earlier one.
     *
     * @param agoNanos at most so long before its answer came
     */
    public synchronized void earlier(int member, long agoNanos, long nowNanos) {
        grantsOver.merge(member, over(agoNanos, nowNanos), (a, b) -> b - a < 0 ? b : a);
        countEarlier();
    }

    private long over(long agoNanos, long nowNanos) {
        return nowNanos + Math.max(0, fullWaitNanos - (long) (agoNanos / NEW_LEADER_FACTOR));
    }

    private void countEarlier() {
        int needed = (others + 1) / 2;
        long[] left =
                grantsOver.entrySet().stream()
                        .filter(e -> isVoter(e.getKey()))
                        .mapToLong(e -> e.getValue() - bornNanos)
                        .sorted()
                        .toArray();
        if (!sameVoters || needed == 0 || left.length < needed) {
            return;
        }
        // The needed-th earliest: with this member itself, a majority has granted nothing longer.
        long over = Math.max(left[needed - 1], ownOverNanos - bornNanos);
        if (over < earlierOverNanos - bornNanos) {
            earlierOverNanos = bornNanos + over;
        }
    }

    private void count() {
        int needed = (others + 1) / 2;
        long[] times =
                lastGranted.entrySet().stream()
                        .filter(e -> isVoter(e.getKey()))
                        .mapToLong(Map.Entry::getValue)
                        .toArray();
        if (needed == 0 || times.length < needed) {
            return;
        }
        long base = times[0];
        long[] ages = Arrays.stream(times).map(t -> t - base).sorted().toArray();
        // The needed-th latest: with this member itself, a majority was there after it.
        long since = base + ages[ages.length - needed];
        if (!everMajority || since - majoritySince > 0) {
            majoritySince = since;
            everMajority = true;
        }
    }

    private boolean isVoter(int member) {
        return voters == null || voters.contains(member);
    }

    /** When the last ping was sent that the member answered; empty if it has answered none. */
    synchronized OptionalLong lastGrantedNanos(int member) {
        Long nanos = lastGranted.get(member);
        return nanos == null ? OptionalLong.empty() : OptionalLong.of(nanos);
    }

    /**
     * Whether a majority that the member does not belong to was in this leader's term after a
     * moment: what the member forgot before it is in this leader's log.
     */
    synchronized boolean confirmedWithout(int member, long sinceNanos) {
        long confirmed =
                lastGranted.entrySet().stream()
                        .filter(e -> e.getKey() != member && isVoter(e.getKey()))
                        .filter(e -> e.getValue() - sinceNanos > 0)
                        .count();
        return confirmed >= (others + 1) / 2;
    }

    /** How long a new leader waits that knows nothing of earlier ones. */
    long fullWaitNanos() {
        return fullWaitNanos;
    }

    /** When this member became leader. */
    public long bornNanos() {
        return bornNanos;
    }

    /** Whether reads whose data was fetched before {@code nowNanos} may be answered at it. */
    public boolean valid(long nowNanos) {
        if (others == 0) {
            return nowNanos - servingFromNanos() >= 0;
        }
        return everMajority
                && nowNanos - majoritySince < leaseNanos
                && nowNanos - servingFromNanos() >= 0;
    }

    /**
     * For how long no other leader can acknowledge a change, nor this member after a start: clients
     * may be told to believe something for so long, in nanoseconds from {@code nowNanos}. 0: for no
     * moment.
     */
    public long leftNanos(long nowNanos) {
        // In this order: a longer lease counts from a time before it was given up.
        long since = others == 0 ? nowNanos : majoritySince;
        long lease = leaseNanos;
        return valid(nowNanos) ? Math.clamp(since + lease - nowNanos, 0, MAX_LOAN_NANOS) : 0;
    }

    /** Before this nothing may be acknowledged: an earlier leader's lease may be running. */
    public long servingFromNanos() {
        return others == 0 ? loansOverNanos : earlierOverNanos;
    }
}
