package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.mds.raft.MemberRefusedException;
import io.cairn.mds.raft.StartWord;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A member of three whose directory was lost. */
final class LostMemberTest {
    private static final String SETTINGS =
            "[raft]\nleader_lease = \"600ms\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;

    @Test
    void withoutAWordItDoesNotStart() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int lost = group.awaitServing() % 3 + 1;
            group.wipe(lost);
            assertThatThrownBy(() -> group.start(lost))
                    .isInstanceOf(MemberRefusedException.class)
                    .hasMessageContaining("mds-" + lost + " is empty")
                    .hasMessageContaining("--new-cluster")
                    .hasMessageContaining("--join");
        }
    }

    @Test
    void whatOnlyItAndTheLeaderHadDoesNotVanish() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            int lost = leader % 3 + 1;
            int behind = lost % 3 + 1;
            TestSession session = new TestSession(group);
            group.stop(behind);
            session.mutate(TestSession.mkdir("acknowledged"));
            group.wipe(lost);
            group.stop(leader);

            group.start(lost, StartWord.JOIN);
            group.start(behind);
            // Whoever is elected first: it is not the one that lacks the entry.
            group.start(leader);
            assertThat(session.lookup("acknowledged").status().ok()).isTrue();

            group.awaitAllVote();
            group.stop(leader);
            // The lost member's vote counts again.
            assertThat(session.lookup("acknowledged").status().ok()).isTrue();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void anIdleLeaderThatLivesThroughTheLossSendsItEverythingAnew() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            int lost = leader % 3 + 1;
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            group.wipe(lost);
            group.start(lost, StartWord.JOIN);
            group.awaitAllVote();

            group.stop(lost % 3 + 1);
            session.mutate(TestSession.mkdir("after")); // acknowledged by the lost one alone
            group.stop(leader);
            group.start(lost % 3 + 1);
            assertThat(session.lookup("after").status().ok()).isTrue();
        }
    }

    @Test
    void theWordIsKeptUntilItVotes() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            int lost = leader % 3 + 1;
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            group.wipe(lost);
            MdsServer.prepare(group.config(lost), StartWord.JOIN);
            group.start(lost, StartWord.NONE);
            group.awaitAllVote();
            group.stop(lost);
            group.start(lost, StartWord.NONE);
            group.stop(leader);
            assertThat(session.lookup("before").status().ok()).isTrue();
        }
    }

    @Test
    void startedAsOneOfANewClusterItJoinsTheGroupThatIsThere() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            int lost = leader % 3 + 1;
            TestSession session = new TestSession(group);
            session.mutate(TestSession.mkdir("before"));
            group.wipe(lost);
            group.start(lost, StartWord.NEW_CLUSTER);
            group.awaitAllVote();
            group.stop(leader);
            assertThat(session.lookup("before").status().ok()).isTrue();
        }
    }
}
