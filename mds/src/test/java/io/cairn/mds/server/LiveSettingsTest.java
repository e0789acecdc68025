package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcStatus;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an administrator sets while the group runs. */
final class LiveSettingsTest {
    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n"
                    + "[background]\nreaper_inodes_per_second = 7\n";

    private static final String NO_LIMIT =
            """
            [raft]
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            [pool]
            pg_count = 16
            [data_servers]
            lease = "10min"
            """;

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir Path directory;

    private static TestGroup.Answer<SettingsReply> set(TestGroup group, String name, String value) {
        return group.call(
                Method.SETTINGS,
                SettingsRequest.newBuilder().setName(name).setValue(value).build(),
                SettingsReply.parser());
    }

    private static Setting rate(TestGroup group) {
        return set(group, "", "").get().getSettings(0);
    }

    @Test
    void itOutlivesTheLeaderAndARestartOfAll() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            assertThat(rate(group).getValue()).isEqualTo("7");
            assertThat(rate(group).getSet()).isFalse();
            assertThat(group.status().getDeletionLimit()).isEqualTo(7);

            Setting answer = set(group, "reaper.rate", "30").get().getSettings(0);
            assertThat(answer.getValue()).isEqualTo("30");
            assertThat(answer.getSet()).isTrue();
            assertThat(group.status().getDeletionLimit()).isEqualTo(30);

            group.stop(leader);
            assertThat(group.awaitServing()).isNotEqualTo(leader);
            assertThat(rate(group).getValue()).isEqualTo("30");
            assertThat(group.status().getDeletionLimit()).isEqualTo(30);

            for (int id : group.running()) {
                group.stop(id);
            }
            for (int id = 1; id <= 3; id++) {
                group.start(id);
            }
            group.awaitServing();
            assertThat(rate(group).getValue()).isEqualTo("30");
            assertThat(set(group, "reaper.rate", "0").get().getSettings(0).getValue())
                    .isEqualTo("0");
            assertThat(group.status().getDeletionLimit()).isZero();
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** Without a limit, as this group is configured, one step would take all of them. */
    @Test
    void theReaperGoesByItAtOnceAndUnderEveryLeader() throws Exception {
        int files = 500;
        try (TestGroup group = new TestGroup(directory, 3, NO_LIMIT);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            int leader = group.awaitServing();
            List<FakeDataServer> servers = three.registered(16);
            assertThat(set(group, "reaper.rate", "1").status().ok()).isTrue();
            makeAndUnlink(new TestSession(group), files);
            // One file has one chunk at most, and that one primary.
            awaitDeleted(servers, 1);
            assertThat(group.status().getDeletionBacklogInodes()).isGreaterThan(files / 2);

            group.stop(leader);
            assertThat(group.awaitServing()).isNotEqualTo(leader);
            awaitDeleted(servers, deleted(servers) + 2);
            assertThat(group.status().getDeletionBacklogInodes()).isGreaterThan(files / 2);

            assertThat(set(group, "reaper.rate", "0").status().ok()).isTrue();
            awaitDeleted(servers, files);
            Awaitility.await()
                    .atMost(PATIENCE)
                    .until(() -> group.status().getDeletionBacklogInodes() == 0);
            assertThat(group.fatal).hasNullValue();
        }
    }

    private static void makeAndUnlink(TestSession session, int files) {
        Mutation[] batch =
                IntStream.range(0, 2 * files)
                        .mapToObj(i ->
                                i % 2 == 0
                                        ? TestSession.create("f" + i / 2, false)
                                        : TestSession.unlink("f" + i / 2))
                        .toArray(Mutation[]::new);
        assertThat(session.mutate(session.batch(session.next, batch)).get().getResultsList())
                .hasSize(2 * files)
                .allMatch(result -> result.getErrno() == 0);
    }

    private static void awaitDeleted(List<FakeDataServer> servers, long files) {
        Awaitility.await(files + " files deleted")
                .atMost(PATIENCE)
                .until(() -> deleted(servers) >= files);
    }

    private static long deleted(List<FakeDataServer> servers) {
        return servers.stream().flatMap(s -> s.deleted.keySet().stream()).distinct().count();
    }

    @Test
    void badNamesAndValuesAreRefusedAndChangeNothing() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            for (String value :
                    List.of("", "-1", "1.5", "fast", "1000001", "99999999999999999999")) {
                RpcStatus refused = set(group, "reaper.rate", value).status();
                assertThat(refused.errno()).as(value).isEqualTo(Errno.EINVAL);
                assertThat(refused.detail()).contains("0 to 1000000");
            }
            assertThat(set(group, "other", "1").status().detail()).contains("reaper.rate");
            assertThat(rate(group).getSet()).isFalse();
            assertThat(set(group, "reaper.rate", "1000000").status().ok()).isTrue();
        }
    }
}
