package io.cairn.mds.leader;

import io.cairn.common.proto.LeaderLeaseReply;
import io.cairn.common.proto.LeaderLeaseRequest;
import io.cairn.common.rocks.Remarks;
import io.cairn.mds.raft.MetaLog;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's answers to the leader's pings: whether it is still in the leader's term, and the
 * member's report about itself. Any thread.
 */
public final class LeaseGrants {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseGrants.class);

    private final EntryLog entries;
    private final MemberReports.Report own;
    private final Supplier<Remarks> remarks;

    /** The group's lease that was last said to be another than this member's. */
    private final AtomicLong saidNanos = new AtomicLong();

    /**
     * @param own what this member is
     * @param remarks what the administrator should know of this member now
     */
    public LeaseGrants(EntryLog entries, MemberReports.Report own, Supplier<Remarks> remarks) {
        this.entries = entries;
        this.own = own;
        this.remarks = remarks;
    }

    /**
     * Granted: this member votes and is in the asking leader's term, so no other was elected with
     * it.
     */
    public LeaderLeaseReply answer(LeaderLeaseRequest ask) {
        @Nullable MetaLog log = entries.log();
        if (log == null) {
            return LeaderLeaseReply.getDefaultInstance();
        }
        boolean votes = log.votes();
        long term = log.term();
        boolean inTerm = term != 0 && term == ask.getTerm();
        if (inTerm) {
            compare(ask.getLeaseNanos());
            if (ask.getJoinAttempt() != 0) {
                log.joinUpTo(ask.getJoinAttempt(), term, ask.getJoinIndex());
            }
        }
        Remarks told = remarks.get();
        return LeaderLeaseReply.newBuilder()
                .setTerm(term)
                .setGranted(inTerm && votes)
                .setJoinAttempt(log.joining())
                .setConfiguredLeaseNanos(own.configuredLeaseNanos())
                .setFeatureLevel(own.featureLevel())
                .addAllWarnings(told.warnings())
                .addAllNotes(told.notes())
                .setRelease(own.release())
                .build();
    }

    private void compare(long leaseNanos) {
        long differing = leaseNanos == own.configuredLeaseNanos() ? 0 : leaseNanos;
        if (saidNanos.getAndSet(differing) != differing && differing != 0) {
            LOG.warn(
                    "raft.leader_lease is {} ms here, the group uses {} ms, and so does this"
                            + " member: configure the same on all members; a new value counts once"
                            + " all of them run with it",
                    Duration.ofNanos(own.configuredLeaseNanos()).toMillis(),
                    Duration.ofNanos(differing).toMillis());
        }
    }
}
