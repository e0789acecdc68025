package io.cairn.mds.server;

import static io.cairn.mds.server.MemberCommands.add;
import static io.cairn.mds.server.MemberCommands.address;
import static io.cairn.mds.server.MemberCommands.askAdd;
import static io.cairn.mds.server.MemberCommands.askRemove;
import static io.cairn.mds.server.MemberCommands.askTransfer;
import static io.cairn.mds.server.MemberCommands.awaitLevel;
import static io.cairn.mds.server.MemberCommands.failureOfAdd;
import static io.cairn.mds.server.MemberCommands.ids;
import static io.cairn.mds.server.MemberCommands.member;
import static io.cairn.mds.server.MemberCommands.members;
import static io.cairn.mds.server.MemberCommands.remove;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.raft.MemberRefusedException;
import io.cairn.mds.raft.StartWord;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The members of the group change while it works. */
final class MembershipTest {
    private static final String SETTINGS =
            "[raft]\nleader_lease = \"600ms\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;

    @Test
    void aNewMemberGetsItsVoteOnceItHasTheLogAndCanLead() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, 1, SETTINGS)) {
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            group.start(4, StartWord.JOIN);
            add(group, 4);

            assertThat(ids(members(group))).containsExactly(1, 2, 3, 4);
            assertThat(member(group, 4).getRole()).isEqualTo(MemberRole.MEMBER_FOLLOWER);
            assertThat(member(group, 4).getJoining()).isFalse();
            session.mutate(TestSession.mkdir("after"));

            // As commands ask: the leader may end before it has answered.
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> askTransfer(group, 4).status().ok());
            assertThat(member(group, 4).getRole()).isEqualTo(MemberRole.MEMBER_LEADER);
            assertThat(session.lookup("before").status().ok()).isTrue();
            assertThat(session.lookup("after").status().ok()).isTrue();
            // Clients and data servers learn of it from the map.
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() ->
                            group.status().getMap().getMdsList().stream()
                                    .map(MdsMember::getId)
                                    .toList()
                                    .equals(List.of(1, 2, 3, 4)));
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void aMemberThatIsDownIsReplacedAndItsLossDoesNotCountAnyMore() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, 1, SETTINGS)) {
            TestSession session = new TestSession(group);
            int lost = group.awaitServing() % 3 + 1;
            group.stop(lost);
            session.mutate(TestSession.mkdir("before"));
            group.start(4, StartWord.JOIN);
            add(group, 4);
            remove(group, lost);
            assertThat(ids(members(group))).doesNotContain(lost).contains(4).hasSize(3);

            group.stop(lost % 3 + 1); // the group is now of 3, and can lose one
            session.mutate(TestSession.mkdir("after"));

            // Nobody sends it anything any more: it asks, and stops.
            group.start(lost);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> String.valueOf(group.fatal.get()).contains("was removed"));
            group.stop(lost);
            assertThatThrownBy(() -> group.start(lost))
                    .isInstanceOf(MemberRefusedException.class)
                    .hasMessageContaining("was removed from its group")
                    .hasMessageContaining("cairn mds add");
        }
    }

    @Test
    void removingTheLeaderHasAnotherElectedFirstAndItStops() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            int leader = group.awaitServing();
            for (int i = 0; i < 3; i++) { // as commands ask, while leadership is given away
                assertThat(askRemove(group, leader).status()).isEqualTo(RpcStatus.OK);
            }
            remove(group, leader);
            assertThat(ids(members(group))).doesNotContain(leader).hasSize(2);
            assertThat(session.lookup("before").status().ok()).isTrue();
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() ->
                            String.valueOf(group.fatal.get())
                                    .contains("member " + leader + " was removed"));
        }
    }

    @Test
    void aGroupOfOneGrowsToThreeAndStartsAgainFromItsLog() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, 3, SETTINGS)) {
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            for (int id : new int[] {3, 4}) {
                group.start(id, StartWord.JOIN);
                add(group, id);
            }
            assertThat(ids(members(group))).containsExactly(1, 3, 4);
            for (int id : new int[] {1, 3, 4}) {
                group.stop(id);
            }
            for (int id : new int[] {3, 4}) {
                group.start(id, StartWord.NONE);
            }
            assertThat(session.lookup("before").status().ok()).isTrue();
            assertThat(ids(members(group))).containsExactly(1, 3, 4);
            group.start(1);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> member(group, 1).getReachable());
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void whatWouldLoseTheMajorityIsRefused() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            int down = leader % 3 + 1;
            int other = down % 3 + 1;
            group.stop(down);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> !member(group, down).getReachable());
            RpcStatus refused =
                    Awaitility.await("the leader is not new any more")
                            .until(() -> askRemove(group, other).status(), s -> !s.ok());
            assertThat(refused.errno()).isEqualTo(Errno.EBUSY);
            assertThat(refused.detail()).contains("a majority would be missing", "[" + down + "]");
            assertThat(askTransfer(group, down).status().detail()).contains("does not answer");
            assertThat(askTransfer(group, 9).status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(ids(members(group))).containsExactly(1, 2, 3);
        }
        try (TestGroup single = new TestGroup(directory.resolve("single"), 1, SETTINGS)) {
            single.awaitServing();
            assertThat(askRemove(single, 1).status().detail()).contains("is the only one");
        }
    }

    @Test
    void whoCannotBeAddedIsRefused() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, 2, SETTINGS)) {
            group.awaitServing();
            awaitLevel(group);
            assertThat(askAdd(group, 2, address(group, 4)).status().errno())
                    .isEqualTo(Errno.EEXIST);
            assertThat(askAdd(group, 4, address(group, 2)).status().errno())
                    .isEqualTo(Errno.EEXIST);
            assertThat(askAdd(group, 0, address(group, 4)).status().errno())
                    .isEqualTo(Errno.EINVAL);
            assertThat(askAdd(group, 4, "nowhere").status().errno()).isEqualTo(Errno.EINVAL);
            assertThat(failureOfAdd(group, 4, address(group, 4)).detail())
                    .contains("no metadata server answers", "--join");

            group.start(4, StartWord.JOIN);
            // The leader may not try again at once to connect to who was not there a moment ago.
            Awaitility.await()
                    .untilAsserted(() ->
                            assertThat(failureOfAdd(group, 5, address(group, 4)).detail())
                                    .contains("is configured as member 4"));
            assertThat(ids(members(group))).containsExactly(1, 2, 3);
            group.start(5, StartWord.JOIN);
            assertThat(askAdd(group, 4, address(group, 4)).get().getDone()).isFalse();
            RpcStatus second = askAdd(group, 5, address(group, 5)).status();
            assertThat(second.errno()).isEqualTo(Errno.EBUSY);
            assertThat(second.detail()).contains("one change at a time");
            add(group, 4);
            add(group, 5);
            assertThat(ids(members(group))).containsExactly(1, 2, 3, 4, 5);
        }
    }

    /** The group has asked it, and would wait for the answer to a question that is void. */
    @Test
    void oneThatIsGivenUpBeforeItAnswersLeavesRoomForOthers() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, 1, SETTINGS);
                ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            group.awaitServing();
            awaitLevel(group);
            String address = "127.0.0.1:" + silent.getLocalPort();
            assertThat(askAdd(group, 9, address).get().getDone()).isFalse();
            silent.setSoTimeout(20_000);
            try (Socket asked = silent.accept()) {
                assertThat(asked.isConnected()).isTrue();
                remove(group, 9);
                assertThat(askAdd(group, 8, address).get().getDone()).isFalse();
            }
        }
    }
}
