package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.MemberStatus;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three members in one JVM. */
final class MdsGroupTest {
    private static final String SETTINGS =
            "[raft]\nleader_lease = \"600ms\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;

    @Test
    void aRetryAtTheNextLeaderGetsTheFirstAnswer() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            TestSession session = new TestSession(group);
            MutationResult first = session.mutate(TestSession.mkdir("d1"));
            int other = leader % 3 + 1;
            Answer<LookupReply> refused =
                    group.ask(
                            other,
                            Method.LOOKUP,
                            TestSession.lookupRequest("d1"),
                            LookupReply.parser());
            assertThat(refused.status().advice()).isEqualTo(Advice.NOT_LEADER);
            assertThat(refused.status().detail())
                    .isEqualTo("127.0.0.1:" + group.address(leader).getPort());

            group.stop(leader);
            MutateRequest again = session.batch(1, TestSession.mkdir("d1"));
            assertThat(session.mutate(again).get().getResults(0)).isEqualTo(first);
            assertThat(group.awaitServing()).isNotEqualTo(leader);
            assertThat(TestSession.inode(session.mutate(TestSession.mkdir("d2"))).getInode())
                    .isGreaterThan(first.getAttr().getInode());

            // The old leader comes back and catches up.
            group.start(leader);
            group.stop(group.awaitServing());
            assertThat(session.lookup("d2").status().ok()).isTrue();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void statusNamesAMemberThatDoesNotAnswer() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            // One that comes late to the first election joins for a moment; another leader is
            // elected.
            await().ignoreExceptions()
                    .untilAsserted(() -> {
                        StatusReply whole = status(group, group.awaitServing());
                        assertThat(whole.getMemberStatusList())
                                .extracting(MemberStatus::getId)
                                .containsExactly(1, 2, 3);
                        assertThat(whole.getWarningsList()).noneMatch(w -> w.contains("member"));
                    });

            int stopped = group.awaitServing() % 3 + 1;
            group.stop(stopped);
            await().ignoreExceptions()
                    .untilAsserted(() ->
                            assertThat(status(group, group.awaitServing()).getWarningsList())
                                    .anyMatch(w ->
                                            w.startsWith("MDS member " + stopped + " (127.0.0.1:")
                                                    && w.contains("without another member")));
        }
    }

    /** A base that the fast device cannot hold, so that all but level 0 lies on the slow one. */
    @Test
    void statusTellsOfLevelsOnTheSlowDeviceOfEveryMember() throws Exception {
        String rocks =
                """
                [rocksdb]
                fast_path = '%s/fast-{id}'
                slow_path = '%s/slow-{id}'
                fast_size = '3GiB'
                max_bytes_for_level_base = '1GiB'
                level0_file_num_compaction_trigger = 1
                """
                        .formatted(directory, directory);
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS + rocks)) {
            TestSession session = new TestSession(group);
            assertThat(TestSession.inode(session.mutate(TestSession.mkdir("d"))).getInode())
                    .isPositive();
            for (int id = 1; id <= 3; id++) {
                group.stop(id); // which flushes
                group.start(id);
            }
            await().atMost(Duration.ofSeconds(60))
                    .untilAsserted(() -> {
                        int leader = group.awaitServing();
                        List<String> spilled =
                                status(group, leader).getNotesList().stream()
                                        .filter(w -> w.contains("level 1 of database metadata ("))
                                        .sorted()
                                        .toList();
                        assertThat(spilled).hasSize(3);
                        for (int id = 1; id <= 3; id++) {
                            assertThat(spilled.get(id - 1)).startsWith("MDS member " + id + " (");
                        }
                    });
        }
    }

    private static StatusReply status(TestGroup group, int member) throws Exception {
        return group.ask(
                        member,
                        Method.STATUS,
                        StatusRequest.getDefaultInstance(),
                        StatusReply.parser())
                .get();
    }

    @Test
    void withBothFollowersGoneReadsEndWithTheLease() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("d"));
            for (int id = 1; id <= 3; id++) {
                if (id != leader) {
                    group.stop(id);
                }
            }
            await().atMost(Duration.ofSeconds(20))
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> !read(group, leader).status().ok());
            // And stay so: Ratis itself may take seconds to notice, we must not.
            for (int i = 0; i < 50; i++) {
                assertThat(read(group, leader).status().ok()).isFalse();
            }
            MutateRequest mutation = session.batch(session.next, TestSession.mkdir("never"));
            var unanswered = session.send(leader, mutation);
            assertThat(read(group, leader).status().ok()).isFalse();
            assertThat(unanswered.get(20, TimeUnit.SECONDS).status().ok()).isFalse();
        }
    }

    @Test
    void aLeaderThatStoodStillRefusesReadsUntilItHasAskedAgain() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("d"));
            assertThat(group.server(leader).serving()).isTrue();
            // Its clock went on while it stood still.
            group.advance(leader, TimeUnit.SECONDS.toNanos(5));
            assertThat(group.server(leader).serving()).isFalse();
            // Contact to the majority makes it serve again.
            await().atMost(Duration.ofSeconds(20)).until(() -> group.server(leader).serving());
            Answer<MutateReply> answer =
                    session.mutate(session.batch(session.next, TestSession.mkdir("e")));
            assertThat(answer.status().ok()).isTrue();
        }
    }

    private static Answer<LookupReply> read(TestGroup group, int member) {
        return group.ask(
                member, Method.LOOKUP, TestSession.lookupRequest("d"), LookupReply.parser());
    }
}
