package io.cairn.mds.leader;

import io.cairn.common.time.NanoClock;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * What this member has granted to leaders of earlier terms, so that the next one need not wait as
 * if all of it had been granted just now (docs/adr/0020). A lease of an earlier leader ends at the
 * latest one lease after the last grant of some member of any majority of the new one: members say
 * how long ago they last granted to an earlier leader, and the new one counts from there.
 *
 * <p>What is not known counts as granted at the latest moment it can have been: what an earlier
 * process granted, when this one began; what this member held for true of its own leadership, when
 * it first sees another term.
 *
 * <p>A grant is noted before it is known whether it is given, in one step with asking for the term:
 * otherwise the grant of a slow thread could be missing in an answer to the next leader.
 *
 * <p>No threads or I/O; times are those of a clock that counts suspended time too. Any thread.
 */
public final class EarlierLeases {
    /** The newest term that was granted to, or led in. */
    private long term;

    private long grantedNanos;

    /** Whether this member leads in it. */
    private boolean own;

    /** The last moment at which an earlier term than that can have been granted to. */
    private long earlierNanos;

    /** Who votes; empty: not known. */
    private Set<Integer> members = Set.of();

    /** Since when these were not seen to be others. */
    private long membersSinceNanos;

    /**
     * @param startNanos not before this process began
     */
    public EarlierLeases(long startNanos) {
        grantedNanos = startNanos;
        earlierNanos = startNanos;
    }

    /**
     * A leader asks this member for a grant.
     *
     * @param mayGrant whether this member votes and is in that term
     * @return empty if it is not granted; else how many nanoseconds ago an earlier leader can last
     *     have been granted to, at least 1
     */
    public synchronized OptionalLong grant(long asking, BooleanSupplier mayGrant, NanoClock clock) {
        // Terms only ascend: once this member is in another one, nothing more is granted to this.
        if (asking < term || !mayGrant.getAsBoolean()) {
            return OptionalLong.empty();
        }
        long now = clock.nanos();
        enter(asking, now);
        grantedNanos = now;
        return OptionalLong.of(Math.max(1, now - earlierNanos));
    }

    /**
     * This member leads from now on.
     *
     * @return as {@link #grant}, of its own grants
     */
    public synchronized long lead(long newTerm, long nowNanos) {
        enter(newTerm, nowNanos);
        own = true;
        return Math.max(1, nowNanos - earlierNanos);
    }

    private void enter(long next, long nowNanos) {
        if (next <= term) {
            return;
        }
        // A leader counts itself all the time.
        long last = own ? nowNanos : grantedNanos;
        earlierNanos = last - earlierNanos > 0 ? last : earlierNanos;
        term = next;
        own = false;
    }

    /**
     * Who votes, as far as this member's log says. Told with every configuration that is applied,
     * and now and then.
     *
     * @param voters empty while a change is being made, and where not all configurations were seen
     */
    synchronized void members(Set<Integer> voters, long nowNanos) {
        if (members.isEmpty() || !members.equals(voters)) {
            members = Set.copyOf(voters);
            membersSinceNanos = nowNanos;
        }
    }

    /**
     * Whether these have been the members for longer than that. If not, an earlier leader may hold
     * a lease by a majority that has no member in common with one of these: its configuration may
     * be two changes older.
     */
    synchronized boolean settled(Set<Integer> voters, long nanos, long nowNanos) {
        return !voters.isEmpty()
                && members.equals(voters)
                && nowNanos - membersSinceNanos - nanos >= 0;
    }
}
