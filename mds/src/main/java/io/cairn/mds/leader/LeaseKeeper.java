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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Renews the leader's lease: pings the other members four times per lease and counts those that are
 * still in its term. Begun and ended on the control thread; pings leave on the thread of the
 * leases, and answers arrive on event loops.
 */
public final class LeaseKeeper {
    private static final long ASKING_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Leadership leadership;
    private final RpcClient client;
    private final Control thread;
    private final NanoClock clock;
    private final MemberReports reports;
    private final EntryLog entries;
    private final Map<Integer, Joining> joining = new ConcurrentHashMap<>();
    private volatile Leadership.@Nullable Term kept;
    private volatile @Nullable MdsMember guest;

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
        guest = null;
        kept = term;
        thread.execute(() -> ping(term));
    }

    /** From the next round on one that is no member yet is asked and told too; null: nobody. */
    void invite(@Nullable MdsMember member) {
        guest = member;
    }

    public void end() {
        kept = null;
    }

    private void ping(Leadership.Term term) {
        if (!term.equals(kept)) {
            return;
        }
        // Before the members are looked at, and before anything is sent: the lease never counts
        // from later than either.
        long sentNanos = clock.nanos();
        long leaseNanos = term.lease().leaseNanos();
        var _ = thread.after(leaseNanos / 4, () -> ping(term));
        List<MdsMember> all = present(term);
        for (MdsMember member : all) {
            if (member.getId() != leadership.self()) {
                LeaderLeaseRequest.Builder request =
                        LeaderLeaseRequest.newBuilder()
                                .setTerm(term.number())
                                .setLeader(leadership.self())
                                .setLeaseNanos(leaseNanos);
                all.stream()
                        .filter(m -> !m.getRaftAddress().isEmpty())
                        .forEach(request::addMembers);
                admit(term, member.getId(), request);
                ping(term, member, request.build(), sentNanos, leaseNanos);
            }
        }
    }

    /** The group as it is now, by which the lease counts, and the guest. */
    private List<MdsMember> present(Leadership.Term term) {
        @Nullable MetaLog log = entries.log();
        if (log == null) {
            return leadership.members();
        }
        List<MdsMember> all = new ArrayList<>();
        log.membership().group().members().forEach(m -> all.add(GroupMembers.toProto(m)));
        term.lease().voters(others(all));
        @Nullable MdsMember invited = guest;
        if (invited != null && isGuest(all, invited.getId())) {
            all.add(invited);
        }
        reports.group(all.stream().map(MdsMember::getId).collect(Collectors.toSet()));
        return all;
    }

    private static boolean isGuest(List<MdsMember> members, int id) {
        return members.stream().noneMatch(m -> m.getId() == id);
    }

    private Set<Integer> others(List<MdsMember> members) {
        return members.stream()
                .map(MdsMember::getId)
                .filter(id -> id != leadership.self())
                .collect(Collectors.toSet());
    }

    /**
     * Asks a server once that is no member.
     *
     * @param removed whether it is told that it is none any more, and has to stop
     * @param then called on an event loop
     */
    void askOnce(
            Leadership.Term term,
            String address,
            boolean removed,
            Heads.Reply<LeaderLeaseReply> then) {
        client.channel(RpcAddress.parse(address))
                .call(
                        Method.LEADER_LEASE_VALUE,
                        LeaderLeaseRequest.newBuilder()
                                .setTerm(term.number())
                                .setLeader(leadership.self())
                                .setRemoved(removed)
                                .build(),
                        System.nanoTime() + ASKING_NANOS,
                        Heads.reply(LeaderLeaseReply.parser(), then));
    }

    /** Tells a member that is joining what it has to have before it votes. */
    private void admit(Leadership.Term term, int member, LeaderLeaseRequest.Builder request) {
        @Nullable Joining present = joining.get(member);
        @Nullable MetaLog log = entries.log();
        if (present == null || log == null) {
            return;
        }
        if (isGuest(leadership.members(), member)) {
            request.setJoinAttempt(present.attempt).setNewcomer(true);
        } else if (term.lease().confirmedWithout(member, present.heardNanos)) {
            request.setJoinAttempt(present.attempt).setJoinIndex(log.lastIndex());
        }
    }

    private void ping(
            Leadership.Term term,
            MdsMember member,
            LeaderLeaseRequest request,
            long sentNanos,
            long waitNanos) {
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
            if (reply.getEarlierGrantNanos() > 0) {
                term.lease().earlier(member, reply.getEarlierGrantNanos(), clock.nanos());
            }
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
        // A guest is in no term before it is sent the log.
        if (reply.getTerm() == term.number() || isGuest(leadership.members(), member)) {
            reports.heard(
                    member,
                    new MemberReports.Report(
                            reply.getConfiguredLeaseNanos(),
                            reply.getFeatureLevel(),
                            attempt,
                            new Remarks(reply.getWarningsList(), reply.getNotesList()),
                            Release.shown(reply.getRelease())),
                    new MemberReports.Place(reply.getLastIndex(), reply.getAppliedIndex()));
        }
    }
}
