package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.ChangeMemberReply;
import io.cairn.common.proto.GroupMember;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * {@code cairn mds add}, {@code replace} and {@code transfer-leader}, against a leader that is
 * scripted.
 */
final class MembersCommandTest {
    private static final int UNREACHABLE = 4;
    private static final RpcStatus NOT_YET =
            RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, "an election is held");
    private static final RpcStatus NOBODY_THERE =
            RpcStatus.fail(Errno.EHOSTUNREACH, "no metadata server answers at 127.0.0.1:9");

    private final List<Method> changes = new CopyOnWriteArrayList<>();

    /** What changes are answered with before they are done; OK is: not yet. */
    private final Queue<RpcStatus> answers = new ConcurrentLinkedQueue<>();

    /** What questions for the members are answered with first; OK is: with them. */
    private final Queue<RpcStatus> lists = new ConcurrentLinkedQueue<>();

    private volatile int leader = 1;
    private volatile Runnable onTransfer = () -> {};

    private final ScriptedServer server = new ScriptedServer(this::answer);

    MembersCommandTest() throws IOException {}

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        if (request.method() == Method.GROUP_MEMBERS.getNumber()) {
            RpcStatus refusal = lists.poll();
            if (refusal == null || refusal.ok()) {
                request.reply(GroupMembersReply.newBuilder().addMembers(only()).build());
            } else {
                request.fail(refusal);
            }
            return;
        }
        changes.add(Method.forNumber(request.method()));
        if (request.method() == Method.TRANSFER_LEADER.getNumber()) {
            onTransfer.run();
        }
        RpcStatus next = answers.poll();
        if (next != null && !next.ok()) {
            request.fail(next);
        } else {
            request.reply(ChangeMemberReply.newBuilder().setDone(next == null).build());
        }
    }

    private GroupMember.Builder only() {
        return GroupMember.newBuilder()
                .setMember(MdsMember.newBuilder().setId(leader).setAddress(server.address()))
                .setRole(MemberRole.MEMBER_LEADER);
    }

    private int run(String... words) {
        return server.run(words);
    }

    /**
     * The leader has asked there and nobody answered it: that is no leader that does not answer.
     */
    @Test
    void whereNoServerIsNobodyIsAddedAndTheErrorNamesTheAddress() {
        answers.addAll(List.of(RpcStatus.OK, NOBODY_THERE));
        assertThat(run("mds", "add", "4", "127.0.0.1:9", "--mds", server.address()))
                .isEqualTo(UNREACHABLE);
        assertThat(server.err.toString()).contains("no metadata server answers at 127.0.0.1:9");
        assertThat(changes).containsExactly(Method.ADD_MEMBER, Method.ADD_MEMBER);
    }

    @Test
    void whereNoServerIsNobodyIsReplaced() {
        answers.addAll(List.of(RpcStatus.OK, NOBODY_THERE));
        assertThat(run("mds", "replace", "1", "4", "127.0.0.1:9", "--mds", server.address()))
                .isEqualTo(UNREACHABLE);
        assertThat(server.err.toString()).contains("no metadata server answers at 127.0.0.1:9");
        assertThat(changes).containsExactly(Method.ADD_MEMBER, Method.ADD_MEMBER);
    }

    @Test
    void anElectionIsWaitedFor() {
        answers.addAll(List.of(RpcStatus.OK, NOT_YET));
        assertThat(run("mds", "add", "4", "127.0.0.1:9", "--mds", server.address())).isZero();
        assertThat(server.out.toString()).contains("member 4 is added and votes");
        assertThat(changes).hasSize(3);
    }

    /** It is elected before it may answer: what is asked of it meanwhile is refused. */
    @Test
    void whoIsElectedLeadsOnceItServes() {
        lists.addAll(List.of(RpcStatus.OK, NOT_YET, NOT_YET));
        assertThat(run("mds", "transfer-leader", "1", "--mds", server.address())).isZero();
        assertThat(server.out.toString()).contains("member 1 leads");
        assertThat(lists).isEmpty();
    }

    @Test
    void whoIsElectedAndReplacedAtOnceIsNotSaidToLead() {
        lists.addAll(List.of(RpcStatus.OK, NOT_YET));
        onTransfer = () -> leader = 2;
        assertThat(run("mds", "transfer-leader", "1", "--mds", server.address())).isEqualTo(1);
        assertThat(server.err.toString())
                .contains("member 1 was elected, and member 2 leads by now");
    }
}
