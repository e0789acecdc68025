package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LeaderDeathTest {
    private static final RaftPeerId LEADER = RaftSettings.peerId(2);
    private static final RaftPeerId OTHER = RaftSettings.peerId(3);

    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final FakeGroup group = new FakeGroup();
    private final LeaderDeath death =
            new LeaderDeath((millis, task) -> tasks.add(task), group, () -> 1);

    /** A follower in term 7. */
    private static final class FakeGroup implements LeaderDeath.Group {
        final List<Long> stood = new ArrayList<>();
        @Nullable RaftPeerId leader = LEADER;
        long term = 7;

        /** So often the port still takes a connection. */
        int accepts;

        int probed;

        @Override
        public @Nullable RaftPeerId leader() {
            return leader;
        }

        @Override
        public long term() {
            return term;
        }

        @Override
        public boolean refuses(RaftPeerId member) {
            assertThat(member).isEqualTo(LEADER);
            probed++;
            return probed > accepts;
        }

        @Override
        public void stand(RaftPeerId of, long inTerm) {
            stood.add(inTerm);
        }
    }

    private void runAll() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    @Test
    void whoFollowsALeaderWhosePortRefusesStands() {
        death.disconnected(LEADER);
        assertThat(group.probed).as("not on the thread of the connection").isZero();
        runAll();
        assertThat(group.stood).containsExactly(7L);
    }

    @Test
    void thePortMayCloseAMomentAfterTheConnection() {
        group.accepts = 3;
        death.disconnected(LEADER);
        runAll();
        assertThat(group.probed).isEqualTo(4);
        assertThat(group.stood).containsExactly(7L);
    }

    @Test
    void aLeaderThatOnlyConnectsAgainStays() {
        group.accepts = Integer.MAX_VALUE;
        death.disconnected(LEADER);
        runAll();
        assertThat(group.probed).isPositive();
        assertThat(group.stood).isEmpty();
    }

    @Test
    void connectionsOfOthersAreOfNoInterest() {
        death.disconnected(OTHER);
        group.leader = null; // it leads itself, or knows of no leader
        death.disconnected(LEADER);
        runAll();
        assertThat(group.probed).isZero();
    }

    @Test
    void whereAnotherIsElectedMeanwhileNobodyStands() {
        death.disconnected(LEADER);
        Runnable probe = tasks.remove();
        probe.run();
        group.term = 8;
        runAll();
        group.leader = OTHER;
        death.disconnected(LEADER);
        runAll();
        assertThat(group.probed).isEqualTo(1);
        assertThat(group.stood).isEmpty();
    }
}
