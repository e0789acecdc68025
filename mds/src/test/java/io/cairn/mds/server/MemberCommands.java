package io.cairn.mds.server;

import io.cairn.common.proto.AddMemberRequest;
import io.cairn.common.proto.ChangeMemberReply;
import io.cairn.common.proto.GroupMember;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.GroupMembersRequest;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RemoveMemberRequest;
import io.cairn.common.proto.TransferLeaderReply;
import io.cairn.common.proto.TransferLeaderRequest;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcStatus;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.awaitility.Awaitility;

/** Changes the members of a group as the administrator's commands do it. */
final class MemberCommands {
    private MemberCommands() {}

    static String address(TestGroup group, int id) {
        return RpcAddress.format(group.address(id));
    }

    static void awaitLevel(TestGroup group) {
        Awaitility.await()
                .atMost(Duration.ofSeconds(20))
                .until(() -> group.status().getFeatureLevel() >= 5);
    }

    static void add(TestGroup group, int id) {
        awaitDone("added", () -> askAdd(group, id, address(group, id)));
    }

    static void remove(TestGroup group, int id) {
        awaitDone("removed", () -> askRemove(group, id));
    }

    private static void awaitDone(String what, Supplier<TestGroup.Answer<ChangeMemberReply>> ask) {
        Awaitility.await(what)
                .pollInSameThread()
                .atMost(Duration.ofSeconds(60))
                .until(() -> ask.get().get().getDone());
    }

    static TestGroup.Answer<ChangeMemberReply> askAdd(TestGroup group, int id, String address) {
        return group.call(
                Method.ADD_MEMBER,
                AddMemberRequest.newBuilder().setId(id).setAddress(address).build(),
                ChangeMemberReply.parser());
    }

    static RpcStatus failureOfAdd(TestGroup group, int id, String address) {
        return Awaitility.await()
                .pollInSameThread()
                .atMost(Duration.ofSeconds(30))
                .until(() -> askAdd(group, id, address).status(), status -> !status.ok());
    }

    static TestGroup.Answer<ChangeMemberReply> askRemove(TestGroup group, int id) {
        return group.call(
                Method.REMOVE_MEMBER,
                RemoveMemberRequest.newBuilder().setId(id).build(),
                ChangeMemberReply.parser());
    }

    static TestGroup.Answer<TransferLeaderReply> askTransfer(TestGroup group, int id) {
        return group.call(
                Method.TRANSFER_LEADER,
                TransferLeaderRequest.newBuilder().setId(id).build(),
                TransferLeaderReply.parser());
    }

    /** Has the member lead, and waits until it does. */
    static void transfer(TestGroup group, int id) {
        Awaitility.await("member " + id + " leads")
                .pollInSameThread()
                .atMost(Duration.ofSeconds(60))
                .until(() -> askTransfer(group, id).status().ok() && leader(group) == id);
    }

    /** The member that leads and may answer. */
    static int leader(TestGroup group) {
        return members(group).stream()
                .filter(m -> m.getRole() == MemberRole.MEMBER_LEADER)
                .map(m -> m.getMember().getId())
                .findFirst()
                .orElseThrow();
    }

    /** Who the members are, and what is being changed. */
    static GroupMembersReply listing(TestGroup group) {
        return group.call(
                        Method.GROUP_MEMBERS,
                        GroupMembersRequest.getDefaultInstance(),
                        GroupMembersReply.parser())
                .get();
    }

    static List<GroupMember> members(TestGroup group) {
        return listing(group).getMembersList();
    }

    static GroupMember member(TestGroup group, int id) {
        return members(group).stream()
                .filter(m -> m.getMember().getId() == id)
                .findFirst()
                .orElseThrow();
    }

    static List<Integer> ids(List<GroupMember> members) {
        return members.stream().map(m -> m.getMember().getId()).toList();
    }
}
