package io.cairn.mds.leader;

import io.cairn.common.proto.LeaderLeaseReply;
import io.cairn.common.proto.LeaderLeaseRequest;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's answers to the leader's pings: whether it is still in the leader's term, and what it
 * is. Any thread.
 */
public final class LeaseGrants {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseGrants.class);

    private final Leadership leadership;
    private final MemberReports.Report own;

    /** The group's lease that was last said to be another than this member's. */
    private final AtomicLong saidNanos = new AtomicLong();

    /**
     * @param own what this member is
     */
    public LeaseGrants(Leadership leadership, MemberReports.Report own) {
        this.leadership = leadership;
        this.own = own;
    }

    /** Granted: this member is in the asking leader's term, so no other was elected with it. */
    public LeaderLeaseReply answer(LeaderLeaseRequest ask) {
        long term = leadership.newestTerm();
        boolean inTerm = term != 0 && term == ask.getTerm();
        if (inTerm) {
            compare(ask.getLeaseNanos());
        }
        return LeaderLeaseReply.newBuilder()
                .setTerm(term)
                .setGranted(inTerm)
                .setConfiguredLeaseNanos(own.configuredLeaseNanos())
                .build();
    }

    private void compare(long leaseNanos) {
        long differing = leaseNanos == own.configuredLeaseNanos() ? 0 : leaseNanos;
        if (saidNanos.getAndSet(differing) != differing && differing != 0) {
            LOG.warn(
                    "raft.leader_lease is {} ms here, the group goes by {} ms, and so does this"
                            + " member: configure the same on all members; a new value counts once"
                            + " all of them run with it",
                    Duration.ofNanos(own.configuredLeaseNanos()).toMillis(),
                    Duration.ofNanos(differing).toMillis());
        }
    }
}
