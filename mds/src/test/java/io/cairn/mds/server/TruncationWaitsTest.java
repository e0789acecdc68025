package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.WaitTruncatedReply;
import io.cairn.common.proto.WaitTruncatedRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.mds.background.TruncationWaits;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that wait until what they have truncated is cut on all chunks. */
class TruncationWaitsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int PGS = 16;
    private static final Duration CALLER = Duration.ofSeconds(20);

    @TempDir Path directory;

    private static WaitTruncatedRequest request(TestSession session, long inode, long sequence) {
        return WaitTruncatedRequest.newBuilder()
                .setSession(session.id())
                .setInode(inode)
                .setSequence(sequence)
                .build();
    }

    private static CompletableFuture<Answer<WaitTruncatedReply>> wait(
            int member, TestSession session, long inode, Duration patience) {
        return session.group.send(
                member,
                Method.WAIT_TRUNCATED,
                request(session, inode, 1),
                WaitTruncatedReply.parser(),
                patience);
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** A file of 10 MiB that another session holds open. */
    private static long sharedFile(TestSession other, String name) {
        long inode = TestSession.inode(other.mutate(TestSession.create(name, true))).getInode();
        TestSession.inode(other.mutate(TestSession.raiseCeiling(inode, 10 << 20)));
        TestSession.inode(other.mutate(TestSession.grow(inode, 10 << 20)));
        return inode;
    }

    private static void cut(TestSession session, long inode) {
        assertThat(session.mutate(TestSession.truncate(inode, 0)).getWaitTruncated()).isEqualTo(1);
    }

    @Test
    void theAnswerComesWhenEveryPlacementGroupHasCutAndHoldsUpNothing() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(PGS);
            TestSession session = new TestSession(group);
            long inode = sharedFile(new TestSession(group), "f");
            servers.forEach(s -> s.broken = true);
            cut(session, inode);
            var waiting = wait(1, session, inode, CALLER);
            assertThat(session.mutate(TestSession.mkdir("d")).getErrno()).isZero();
            assertThat(session.getAttr(inode).get().getAttr().getPendingTruncationsCount())
                    .isEqualTo(1);
            assertThat(waiting).isNotDone();
            servers.forEach(s -> s.broken = false);
            assertThat(get(waiting).get().getApplied()).isTrue();
            assertThat(servers.stream().mapToInt(s -> s.truncations.size()).sum())
                    .as("chunks 0, 1 and 2, which may be in the same group")
                    .isBetween(1, 3);
            assertThat(get(wait(1, session, inode, CALLER)).get().getApplied())
                    .as("asked again")
                    .isTrue();
        }
    }

    @Test
    void aCallerIsToldToAskAgainBeforeItsTimeIsOver() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.registered(PGS).forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            long inode = sharedFile(new TestSession(group), "f");
            cut(session, inode);
            assertThat(get(wait(1, session, inode, Duration.ofSeconds(4))).get().getApplied())
                    .isFalse();
        }
    }

    @Test
    void whatIsDeletedNeedNotBeWaitedFor() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.registered(PGS).forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            TestSession other = new TestSession(group);
            long inode = sharedFile(other, "f");
            cut(session, inode);
            session.mutate(TestSession.unlink("f"));
            other.mutate(TestSession.release(inode));
            // The leader frees it a moment later; who asked before asks again.
            await().until(() -> get(wait(1, session, inode, CALLER)).get().getApplied());
        }
    }

    @Test
    void theWaitEndsWithItsSession() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.registered(PGS).forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            TestSession other = new TestSession(group);
            long inode = sharedFile(other, "f");
            cut(session, inode);
            var waiting = wait(1, session, inode, CALLER);
            var others = wait(1, other, inode, CALLER);
            group.call(
                    Method.CLOSE_SESSION,
                    CloseSessionRequest.newBuilder().setSession(session.id()).build(),
                    CloseSessionReply.parser());
            assertThat(get(waiting).status().advice()).isEqualTo(Advice.FENCED);
            assertThat(others).isNotDone();
            assertThat(get(wait(1, session, inode, CALLER)).status().advice())
                    .isEqualTo(Advice.FENCED);
        }
    }

    @Test
    void oneSessionMayHaveSoManyWaiting() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(PGS);
            servers.forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            TestSession other = new TestSession(group);
            long inode = sharedFile(other, "f");
            cut(session, inode);
            List<CompletableFuture<Answer<WaitTruncatedReply>>> waiting = new ArrayList<>();
            for (int i = 0; i < TruncationWaits.MAX_OF_SESSION; i++) {
                waiting.add(wait(1, session, inode, CALLER));
            }
            assertThat(get(wait(1, session, inode, CALLER)).status().advice())
                    .isEqualTo(Advice.RETRY);
            var others = wait(1, other, inode, CALLER);
            servers.forEach(s -> s.broken = false);
            assertThat(get(others).get().getApplied()).isTrue();
            for (var one : waiting) {
                assertThat(get(one).get().getApplied()).isTrue();
            }
        }
    }

    /** As many truncations as are worked on at a time are stuck: those are of another group. */
    @Test
    void aPlacementGroupThatDoesNotAnswerHoldsUpNoOthers() throws Exception {
        int stuck = 300;
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            FakeDataServer broken = three.registered(PGS).getFirst();
            broken.broken = true;
            ClusterMap map = ClusterMap.of(group.status().getMap());
            TestSession session = new TestSession(group);
            TestSession other = new TestSession(group);
            long free = 0;
            for (int i = 0, files = 0; files < stuck || free == 0; i++) {
                long inode =
                        TestSession.inode(other.mutate(TestSession.create("f" + i, true)))
                                .getInode();
                boolean held =
                        broken.rpc
                                .localAddress()
                                .equals(map.primaryAddress(PgHash.pg(1, inode, 0, PGS)));
                if (held) {
                    files++;
                    cut(session, inode);
                } else {
                    free = inode;
                }
            }
            cut(session, free);
            assertThat(get(wait(1, session, free, CALLER)).get().getApplied()).isTrue();
        }
    }

    @Test
    void theNextLeaderGoesOn() throws Exception {
        String settings = QUICK + "leader_lease = \"200ms\"\n";
        try (TestGroup group = new TestGroup(directory, 3, settings);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(PGS);
            TestSession session = new TestSession(group);
            long inode = sharedFile(new TestSession(group), "f");
            servers.forEach(s -> s.broken = true);
            cut(session, inode);
            int leader = group.awaitServing();
            var waiting = wait(leader, session, inode, CALLER);
            group.stop(leader);
            assertThat(get(waiting).status().ok()).isFalse();
            int next = group.awaitServing();
            servers.forEach(s -> s.broken = false);
            assertThat(
                            group.call(
                                            Method.WAIT_TRUNCATED,
                                            request(session, inode, 1),
                                            WaitTruncatedReply.parser())
                                    .get()
                                    .getApplied())
                    .as("member %s", next)
                    .isTrue();
        }
    }

    @Test
    void theWaitEndsWithTheLeadership() throws Exception {
        String settings = QUICK + "leader_lease = \"200ms\"\n";
        try (TestGroup group = new TestGroup(directory, 3, settings);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.registered(PGS).forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            long inode = sharedFile(new TestSession(group), "f");
            cut(session, inode);
            int leader = group.awaitServing();
            var waiting = wait(leader, session, inode, Duration.ofMinutes(1));
            for (int id = 1; id <= 3; id++) {
                if (id != leader) {
                    group.stop(id);
                }
            }
            // Sooner or later it knows; until then it says that it does not know.
            Answer<WaitTruncatedReply> answer = get(waiting);
            if (answer.status().ok()) {
                assertThat(answer.get().getApplied()).isFalse();
            } else {
                // RETRY: the lease was over for a moment when it asked, as on a busy machine.
                assertThat(answer.status().advice()).isIn(Advice.NOT_LEADER, Advice.RETRY);
            }
            await().atMost(PATIENCE)
                    .until(() ->
                            get(wait(leader, session, inode, CALLER)).status().advice()
                                    == Advice.NOT_LEADER);
        }
    }

    @Test
    void aFollowerNamesTheLeader() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, QUICK)) {
            int leader = group.awaitServing();
            TestSession session = new TestSession(group);
            assertThat(get(wait(leader % 3 + 1, session, 5, CALLER)).status().advice())
                    .isEqualTo(Advice.NOT_LEADER);
        }
    }
}
