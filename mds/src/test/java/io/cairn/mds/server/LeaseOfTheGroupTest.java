package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.mds.leader.Leadership;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Members of one group that are configured with different leases of the leader. */
final class LeaseOfTheGroupTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir Path directory;

    private static String lease(String time) {
        return "[raft]\nleader_lease = \""
                + time
                + "\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";
    }

    @Test
    void aMemberConfiguredOtherwiseLeadsByTheLeaseOfTheGroup() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, lease("600ms"))) {
            int odd = group.awaitServing() % 3 + 1;
            TestSession session = new TestSession(group);
            group.stop(odd);
            group.configure(odd, lease("1min"));
            group.start(odd);

            makeLead(group, session, odd);
            // With a lease of its own it would wait a minute, and then serve for one.
            assertThat(group.awaitServing()).isEqualTo(odd);
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void theLeaseChangesOnceAllMembersAreConfiguredSo() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, lease("600ms"))) {
            int leader = group.awaitServing();
            for (int id = 1; id <= 3; id++) {
                assertThat(group.status().getLeaderLeaseMillis()).isEqualTo(600);
                group.stop(id);
                group.configure(id, lease("400ms"));
                group.start(id);
                if (id < 3) {
                    // A leader that has just begun has heard nobody's lease, and its own may
                    // differ.
                    await("member " + id)
                            .atMost(PATIENCE)
                            .untilAsserted(() -> {
                                var status = group.status();
                                assertThat(status.getWarningsList())
                                        .anyMatch(w -> w.contains("another leader_lease"))
                                        .noneMatch(w -> w.contains("does not answer"));
                                assertThat(status.getMemberStatusList())
                                        .anyMatch(m -> m.getConfiguredLeaseMillis() == 400)
                                        .anyMatch(m -> m.getConfiguredLeaseMillis() == 600);
                            });
                }
            }
            await().atMost(PATIENCE)
                    .untilAsserted(
                            () -> assertThat(group.status().getLeaderLeaseMillis()).isEqualTo(400));
            assertThat(group.status().getWarningsList())
                    .noneMatch(w -> w.contains("another leader_lease"));
            assertThat(leader).isPositive();
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** The last ping of the leader before was answered some time before the election. */
    @Test
    void aNewLeaderWaitsOnlyForWhatWasGrantedToTheOneBefore() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, lease("600ms"))) {
            await("a leader that has heard when members last granted")
                    .atMost(PATIENCE)
                    .until(() -> {
                        int leader = group.awaitServing();
                        Leadership.@Nullable Term term = group.server(leader).leadership().term();
                        group.stop(leader);
                        group.start(leader);
                        // The first ones may have known their members for a moment only.
                        return term != null
                                && term.lease().servingFromNanos() - term.lease().bornNanos()
                                        < TimeUnit.MILLISECONDS.toNanos(612);
                    });
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** By being the only one, beside one that is stopped then, to have the newest entry. */
    private static void makeLead(TestGroup group, TestSession session, int member)
            throws Exception {
        int behind = member % 3 + 1;
        int third = behind % 3 + 1;
        group.stop(behind);
        session.mutate(TestSession.mkdir("newest"));
        group.stop(third);
        group.start(behind);
        await().atMost(PATIENCE).until(() -> group.leads(member));
    }
}
