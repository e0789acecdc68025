package io.cairn.mds.leader;

import io.cairn.common.proto.LeaderLeaseReply;
import io.cairn.common.proto.LeaderLeaseRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.rocks.Remarks;
import io.cairn.mds.raft.MetaLog;
import java.time.Duration;
import java.util.OptionalLong;
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

    private final MdsMember self;
    private final Leadership leadership;
    private final EntryLog entries;
    private final MemberReports.Report own;
    private final Supplier<Remarks> remarks;

    /** The group's lease that was last said to be another than this member's. */
    private final AtomicLong saidNanos = new AtomicLong();

    /**
     * @param self this member, as it is configured
     * @param own what it is
     * @param remarks what the administrator should know of this member now
     */
    public LeaseGrants(
            MdsMember self,
            Leadership leadership,
            EntryLog entries,
            MemberReports.Report own,
            Supplier<Remarks> remarks) {
        this.self = self;
        this.leadership = leadership;
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
        long term = log.term();
        boolean inTerm = term != 0 && term == ask.getTerm();
        if (ask.getTerm() >= term && !hear(log, ask)) {
            return LeaderLeaseReply.getDefaultInstance();
        }
        if (inTerm) {
            compare(ask.getLeaseNanos());
            if (ask.getJoinAttempt() != 0 && !ask.getNewcomer()) {
                log.joinUpTo(ask.getJoinAttempt(), term, ask.getJoinIndex());
            }
        }
        Remarks told = remarks.get();
        OptionalLong granted = inTerm ? leadership.grant(log, term) : OptionalLong.empty();
        return LeaderLeaseReply.newBuilder()
                .setTerm(term)
                .setGranted(granted.isPresent())
                .setEarlierGrantNanos(granted.orElse(0))
                .setJoinAttempt(log.joining())
                .setConfiguredLeaseNanos(own.configuredLeaseNanos())
                .setFeatureLevel(own.featureLevel())
                .addAllWarnings(told.warnings())
                .addAllNotes(told.notes())
                .setRelease(own.release())
                .setSelf(self)
                .setLastIndex(log.lastIndex())
                .setAppliedIndex(log.appliedIndex())
                .build();
    }

    /**
     * What a leader of no earlier term says of the group.
     *
     * @return whether this member goes on
     */
    private static boolean hear(MetaLog log, LeaderLeaseRequest ask) {
        if (ask.getRemoved()) {
            log.membership().removed();
            return false;
        }
        if (ask.getNewcomer()) {
            log.newcomer(ask.getJoinAttempt());
        }
        if (ask.getMembersCount() > 0) {
            log.membership()
                    .told(ask.getMembersList().stream().map(GroupMembers::fromProto).toList());
        }
        return true;
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
