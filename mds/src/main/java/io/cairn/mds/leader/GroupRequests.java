package io.cairn.mds.leader;

import io.cairn.common.config.HostPort;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AddMemberRequest;
import io.cairn.common.proto.ChangeMemberReply;
import io.cairn.common.proto.GroupMember;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.proto.RemoveMemberRequest;
import io.cairn.common.proto.TransferLeaderReply;
import io.cairn.common.proto.TransferLeaderRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig.Member;
import io.cairn.mds.raft.RaftMembership;
import org.jspecify.annotations.Nullable;

/** What administrators, and members that find no leader, ask of the group. Control thread only. */
public final class GroupRequests {
    private final Leadership leadership;
    private final GroupChanges changes;
    private final MemberReports reports;
    private final EntryLog entries;

    public GroupRequests(
            Leadership leadership, GroupChanges changes, MemberReports reports, EntryLog entries) {
        this.leadership = leadership;
        this.changes = changes;
        this.reports = reports;
        this.entries = entries;
    }

    /** Who the members are, and how far. */
    public void members(RpcRequest request) {
        answered(request, term -> request.reply(members(term)));
    }

    private GroupMembersReply members(Leadership.Term term) {
        GroupMembersReply.Builder reply =
                GroupMembersReply.newBuilder().setTerm(term.number()).setChange(changes.present());
        @Nullable MetaLog log = entries.log();
        if (log == null) {
            return reply.build();
        }
        RaftMembership.Group group = log.membership().group();
        for (Member member : group.members()) {
            boolean leads = member.id() == leadership.self();
            reply.addMembers(
                    member(
                            member,
                            leads ? MemberRole.MEMBER_LEADER : MemberRole.MEMBER_FOLLOWER,
                            log));
        }
        changes.guest()
                .ifPresent(m -> reply.addMembers(member(m, MemberRole.MEMBER_LISTENER, log)));
        return reply.build();
    }

    private GroupMember member(Member member, MemberRole role, MetaLog log) {
        GroupMember.Builder told =
                GroupMember.newBuilder().setMember(GroupMembers.toProto(member)).setRole(role);
        MemberReports.@Nullable Report report = reports.of(member.id());
        if (report != null) {
            told.setReachable(true).setJoining(report.joining()).setRelease(report.release());
        }
        if (role == MemberRole.MEMBER_LEADER) {
            return told.setLastIndex(log.lastIndex()).setAppliedIndex(log.appliedIndex()).build();
        }
        MemberReports.@Nullable Place place = reports.placeOf(member.id());
        if (place != null) {
            told.setLastIndex(place.last())
                    .setAppliedIndex(place.applied())
                    .setBehind(changes.behind(member.id()));
        }
        return told.build();
    }

    /** Adds a member, or says how far that is. */
    public void add(RpcRequest request) {
        answered(
                request,
                term -> {
                    AddMemberRequest wanted =
                            Heads.parse(AddMemberRequest.parser(), request.head());
                    request.reply(change(changes.add(wanted.getId(), address(wanted))));
                });
    }

    private static String address(AddMemberRequest wanted) {
        if (wanted.getId() < 1 || wanted.getId() > 65_535) {
            throw new FsException(Errno.EINVAL, "a member's id is 1 to 65535");
        }
        try {
            return HostPort.parse(wanted.getAddress()).toString();
        } catch (IllegalArgumentException e) {
            throw new FsException(
                    Errno.EINVAL, wanted.getAddress() + " is no address: " + e.getMessage());
        }
    }

    /** Removes a member, or says how far that is. */
    public void remove(RpcRequest request) {
        answered(
                request,
                term -> {
                    int id = Heads.parse(RemoveMemberRequest.parser(), request.head()).getId();
                    request.reply(change(changes.remove(term, id)));
                });
    }

    private static ChangeMemberReply change(String phase) {
        return ChangeMemberReply.newBuilder().setDone(phase.isEmpty()).setPhase(phase).build();
    }

    /** Has another member lead; answered once it does. */
    public void transfer(RpcRequest request) {
        answered(
                request,
                term -> {
                    int id = Heads.parse(TransferLeaderRequest.parser(), request.head()).getId();
                    var _ =
                            changes.transferTo(id)
                                    .whenComplete((ok, failure) -> {
                                        if (failure == null) {
                                            request.reply(TransferLeaderReply.getDefaultInstance());
                                        } else {
                                            request.fail(status(failure));
                                        }
                                    });
                });
    }

    private static RpcStatus status(Throwable failure) {
        Throwable cause = Causes.of(failure);
        return cause instanceof FsException e
                ? RpcStatus.fail(e.errno(), e.detail())
                : RpcStatus.fail(Errno.EIO, String.valueOf(cause.getMessage()));
    }

    private interface Step {
        void run(Leadership.Term term);
    }

    /** A leader that may answer does the step, and says what it throws. */
    private void answered(RpcRequest request, Step step) {
        @Nullable RpcStatus refusal = leadership.refusal();
        Leadership.@Nullable Term term = leadership.term();
        if (refusal != null || term == null) {
            request.fail(refusal != null ? refusal : leadership.notLeading());
            return;
        }
        try {
            step.run(term);
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), e.detail()));
        }
    }
}
