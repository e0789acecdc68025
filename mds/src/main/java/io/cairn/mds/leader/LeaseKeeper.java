package io.cairn.mds.leader;

import io.cairn.common.proto.LeaderLeaseReply;
import io.cairn.common.proto.LeaderLeaseRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.release.Release;
import io.cairn.common.rocks.Remarks;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.raft.MetaLog;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Renews the leader's lease: pings the other members four times per lease and counts those that are
 * still in its term. Begun and ended on the control thread; pings leave on the thread of the
 * leases, and answers arrive on event loops.
 */
public final class LeaseKeeper {
    private final Leadership leadership;
    private final RpcClient client;
    private final Control thread;
    private final NanoClock clock;
    private final MemberReports reports;
    private final EntryLog entries;
    private final Map<Integer, Joining> joining = new ConcurrentHashMap<>();
    private volatile Leadership.@Nullable Term kept;

    /** A member that is joining, and when it was first heard of in this attempt. */
    private record Joining(long attempt, long heardNanos) {}

    /**
     * @param thread does nothing that takes time: the lease depends on it
     */
    public LeaseKeeper(
            Leadership leadership,
            RpcClient client,
            Control thread,
            NanoClock clock,
            EntryLog entries,
            MemberReports reports) {
        this.leadership = leadership;
        this.client = client;
        this.thread = thread;
        this.clock = clock;
        this.entries = entries;
        this.reports = reports;
    }

    public void begin(Leadership.Term term) {
        end();
        reports.begin();
        joining.clear();
        if (leadership.members().size() > 1) {
            kept = term;
            thread.execute(() -> ping(term));
        }
    }

    public void end() {
        kept = null;
    }

    private void ping(Leadership.Term term) {
        if (!term.equals(kept)) {
            return;
        }
        long leaseNanos = term.lease().leaseNanos();
        var _ = thread.after(leaseNanos / 4, () -> ping(term));
        for (MdsMember member : leadership.members()) {
            if (member.getId() != leadership.self()) {
                LeaderLeaseRequest.Builder request =
                        LeaderLeaseRequest.newBuilder()
                                .setTerm(term.number())
                                .setLeader(leadership.self())
                                .setLeaseNanos(leaseNanos);
                admit(term, member.getId(), request);
                ping(term, member, request.build(), leaseNanos);
            }
        }
    }

    /** Tells a member that is joining what it has to have before it votes. */
    private void admit(Leadership.Term term, int member, LeaderLeaseRequest.Builder request) {
        @Nullable Joining present = joining.get(member);
        @Nullable MetaLog log = entries.log();
        if (present != null
                && log != null
                && term.lease().confirmedWithout(member, present.heardNanos)) {
            request.setJoinAttempt(present.attempt).setJoinIndex(log.lastIndex());
        }
    }

    private void ping(
            Leadership.Term term, MdsMember member, LeaderLeaseRequest request, long waitNanos) {
        // Before it is sent, so that the lease never counts from later than that.
        long sentNanos = clock.nanos();
        client.channel(RpcAddress.parse(member.getAddress()))
                .call(
                        Method.LEADER_LEASE_VALUE,
                        request,
                        System.nanoTime() + waitNanos,
                        (status, head, payload) -> {
                            if (status.ok()) {
                                answered(
                                        term,
                                        member.getId(),
                                        Heads.parse(LeaderLeaseReply.parser(), head),
                                        sentNanos);
                            } else {
                                reports.silent(member.getId());
                            }
                        });
    }

    private void answered(
            Leadership.Term term, int member, LeaderLeaseReply reply, long sentNanos) {
        if (reply.getGranted()) {
            term.lease().granted(member, sentNanos);
        }
        long attempt = reply.getJoinAttempt();
        if (attempt == 0) {
            joining.remove(member);
        } else {
            joining.compute(
                    member,
                    (id, before) ->
                            before != null && before.attempt == attempt
                                    ? before
                                    : new Joining(attempt, clock.nanos()));
        }
        if (reply.getTerm() == term.number()) {
            reports.heard(
                    member,
                    new MemberReports.Report(
                            reply.getConfiguredLeaseNanos(),
                            reply.getFeatureLevel(),
                            attempt,
                            new Remarks(reply.getWarningsList(), reply.getNotesList()),
                            Release.shown(reply.getRelease())));
        }
    }
}
