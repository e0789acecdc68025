package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.file.Durable;
import io.cairn.mds.raft.VotingRight.Past;
import io.cairn.mds.raft.VotingRight.State;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.TermIndexProto;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class VotingRightTest {
    private final List<Object> written = new ArrayList<>();

    @Test
    void aVotingMemberVotesAndStands() throws IOException {
        VotingRight right = in(State.VOTING);
        right.stand(false);
        right.led(Past.ENTRIES);
        assertThat(right.mayVote(true)).isTrue();
        assertThat(right.voted()).isTrue();
        assertThat(right.attempt()).isZero();
        assertThat(written).isEmpty();
    }

    @Test
    void oneThatTheGroupNeverHadHasForgottenNothing() throws IOException {
        VotingRight right = in(State.JOINING);
        right.newcomer(right.attempt() + 2); // of an earlier process
        assertThat(right.state()).isEqualTo(State.JOINING);
        right.newcomer(right.attempt());
        assertThat(written).containsExactly(State.VOTING);
        assertThat(right.mayVote(true)).isTrue();
    }

    @Test
    void aNewMemberVotesForThoseWithoutEntries() throws IOException {
        VotingRight right = in(State.NEW);
        right.stand(true);
        assertThat(right.mayVote(false)).isTrue();
        assertThat(right.state()).as("a pre-vote binds nobody").isEqualTo(State.NEW);
        assertThat(right.voted()).isTrue();
        assertThat(written).containsExactly(State.VOTING);
    }

    @Test
    void aNewMemberThatStandsHasVoted() throws IOException {
        VotingRight right = in(State.NEW);
        right.stand(false);
        assertThat(written).containsExactly(State.VOTING);
        assertThat(right.mayVote(true)).isTrue();
    }

    @Test
    void aNewMemberJoinsThoseThatHaveEntries() throws IOException {
        VotingRight asked = in(State.NEW);
        assertThat(asked.mayVote(true)).isFalse();
        assertThat(asked.state()).isEqualTo(State.JOINING);
        VotingRight led = in(State.NEW);
        led.led(Past.UNTOLD);
        assertThat(led.state()).isEqualTo(State.NEW);
        led.led(Past.ENTRIES);
        assertThat(led.state()).isEqualTo(State.JOINING);
        assertThat(led.voted()).as("a vote given before it was led").isFalse();
        assertThat(written).containsExactly(State.JOINING, State.JOINING);
    }

    @Test
    void aNewMemberThatIsSentTheFirstEntryOfAllVotes() throws IOException {
        VotingRight right = in(State.NEW);
        right.led(Past.NONE);
        assertThat(written).containsExactly(State.VOTING);
    }

    @Test
    void whatALeaderSendsTellsWhetherAnythingWasBefore() {
        AppendEntriesRequestProto nothing =
                AppendEntriesRequestProto.newBuilder().setLeaderTerm(3).setLeaderCommit(-1).build();
        LogEntryProto first = LogEntryProto.newBuilder().setTerm(3).setIndex(0).build();
        AppendEntriesRequestProto begins = nothing.toBuilder().addEntries(first).build();
        assertThat(VotingRight.past(nothing)).isEqualTo(Past.UNTOLD);
        assertThat(VotingRight.past(begins)).isEqualTo(Past.NONE);
        assertThat(VotingRight.past(begins.toBuilder().setLeaderCommit(0).build()))
                .isEqualTo(Past.ENTRIES);
        assertThat(VotingRight.past(nothing.toBuilder().setLeaderCommit(0).build()))
                .isEqualTo(Past.ENTRIES);
        assertThat(
                        VotingRight.past(
                                nothing.toBuilder()
                                        .addEntries(first.toBuilder().setTerm(2))
                                        .build()))
                .as("an earlier leader's")
                .isEqualTo(Past.ENTRIES);
        assertThat(
                        VotingRight.past(
                                nothing.toBuilder()
                                        .setPreviousLog(TermIndexProto.newBuilder().setTerm(3))
                                        .build()))
                .isEqualTo(Past.ENTRIES);
    }

    @Test
    void aJoiningMemberVotesOnceItHasWhatTheLeaderHad() throws IOException {
        VotingRight right = in(State.JOINING);
        assertThat(right.mayVote(false)).isFalse();
        assertThatThrownBy(() -> right.stand(true)).isInstanceOf(IOException.class);
        assertThat(right.refused()).isEqualTo(1);
        assertThat(right.applied(1_000)).as("no index was told").isFalse();

        right.joinUpTo(right.attempt(), 5, 100);
        assertThat(right.applied(99)).isFalse();
        assertThat(right.mayVote(true)).isFalse();
        assertThat(right.applied(100)).isTrue();
        assertThat(written).containsExactly(State.VOTING);
        assertThat(right.mayVote(true)).isTrue();
        assertThat(right.attempt()).isZero();
    }

    @Test
    void theFirstIndexOfATermCountsUntilALaterTerm() throws IOException {
        VotingRight right = in(State.JOINING);
        right.joinUpTo(right.attempt(), 5, 100);
        right.joinUpTo(right.attempt(), 5, 200); // entries go on being logged
        right.joinUpTo(right.attempt(), 4, 10);
        assertThat(right.applied(99)).isFalse();
        right.joinUpTo(right.attempt(), 6, 80); // the end of the older leader's log was dropped
        assertThat(right.applied(80)).isTrue();
    }

    @Test
    void whatIsToldToAnEarlierProcessDoesNotCount() throws IOException {
        VotingRight right = in(State.JOINING);
        right.joinUpTo(right.attempt() + 2, 5, 100);
        assertThat(right.applied(1_000)).isFalse();
    }

    @Test
    void aRecordThatCannotBeWrittenStopsTheMember() {
        VotingRight right =
                new VotingRight(
                        State.NEW,
                        state -> {
                            throw new IOException("disk");
                        },
                        (reason, cause) -> written.add(cause.getMessage()));
        assertThatThrownBy(right::voted).hasMessage("disk");
        assertThat(right.state()).isEqualTo(State.NEW);
        assertThat(written).containsExactly("disk");
    }

    /** Ratis interrupts the threads of an election that was decided without them. */
    @Test
    void aRecordThatIsInterruptedStopsNothing(@TempDir Path directory) throws IOException {
        VotingRight right =
                new VotingRight(
                        State.NEW,
                        state -> Durable.sync(directory),
                        (reason, cause) -> written.add(reason));
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> right.stand(false)).isInstanceOf(ClosedByInterruptException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(written).isEmpty();
        assertThat(right.state()).isEqualTo(State.NEW);
        right.stand(false);
        assertThat(right.state()).isEqualTo(State.VOTING);
    }

    private VotingRight in(State state) {
        return new VotingRight(state, written::add, (reason, cause) -> written.add(reason));
    }
}
