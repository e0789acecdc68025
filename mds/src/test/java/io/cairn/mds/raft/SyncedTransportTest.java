package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.time.NanoClock;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpc;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens in which order. That Ratis goes through it is seen in {@link MetaLogTest}. */
final class SyncedTransportTest {
    private static final MetaLogConfig CONFIG = RaftMessages.threeMembers(Path.of("unused"));

    @TempDir Path directory;

    private final List<String> events = new ArrayList<>();
    private final TermSync sync =
            new TermSync(() -> events.add("sync"), (reason, cause) -> events.add(reason));
    private long term = 7;
    private boolean unreachable;
    private InstallSnapshotResult installed = InstallSnapshotResult.SUCCESS;
    private final VotingRight voting = voting(VotingRight.State.VOTING);

    @Test
    void aVoteIsDurableBeforeItIsAnswered() throws IOException {
        RaftServer server = answering(sync);
        server.requestVote(vote());
        server.requestVote(vote());
        assertThat(events).containsExactly("requestVote", "sync", "requestVote", "sync");
    }

    @Test
    void aCandidatesOwnVoteIsDurableBeforeItAsks() throws IOException {
        RaftServerRpc rpc = asking(voting);
        rpc.requestVote(vote());
        assertThat(events).containsExactly("sync", "requestVote");
    }

    @Test
    void aNewMembersRightToVoteIsNotedBeforeItsVoteIsAnswered() throws IOException {
        RaftServer server = answering(sync, voting(VotingRight.State.NEW));
        assertThat(server.requestVote(vote()).getServerReply().getSuccess()).isTrue();
        assertThat(events).containsExactly("requestVote", "sync", "write VOTING");
    }

    @Test
    void whoMayNotVoteIsNotAskedByRatisAndDoesNotAsk() throws IOException {
        VotingRight none = voting(VotingRight.State.JOINING);
        RaftServer server = answering(sync, none);
        assertThat(server.requestVote(vote()).getServerReply().getSuccess()).isFalse();
        RaftServerRpc rpc = asking(none);
        assertThatThrownBy(() -> rpc.requestVote(vote()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("stands for no election");
        assertThat(events).isEmpty();
    }

    @Test
    void aNewMemberThatIsLedJoins() throws IOException {
        VotingRight right = voting(VotingRight.State.NEW);
        answering(sync, right)
                .appendEntriesAsync(
                        RaftMessages.append(CONFIG, 2).toBuilder().setLeaderCommit(7).build())
                .join();
        assertThat(right.state()).isEqualTo(VotingRight.State.JOINING);
        assertThat(events).containsExactly("write JOINING", "appendEntriesAsync", "sync");
    }

    @Test
    void aTermIsDurableBeforeItsFirstEntriesAreAnswered() throws IOException {
        RaftServer server = answering(sync);
        append(server);
        append(server);
        term = 8;
        append(server);
        String call = "appendEntriesAsync";
        assertThat(events).containsExactly(call, "sync", call, call, "sync");
    }

    @Test
    void whatCannotBeSyncedIsNotAnswered() throws IOException {
        TermSync failing =
                new TermSync(
                        () -> {
                            throw new IOException("broken");
                        },
                        (reason, cause) -> events.add(cause.getMessage()));
        RaftServer server = answering(failing);
        assertThatThrownBy(() -> server.requestVote(vote()))
                .isInstanceOf(IOException.class)
                .hasMessage("broken");
        assertThatThrownBy(() -> append(server)).hasRootCauseMessage("broken");
        assertThat(events).containsExactly("requestVote", "broken", "appendEntriesAsync", "broken");
    }

    @Test
    void anAttemptToSendACheckpointIsToldOfOnceAndIfItIsTheLeaders() throws IOException {
        RaftServer server = answering(sync);
        server.installSnapshot(chunk("one", 0));
        server.installSnapshot(chunk("one", 1));
        installed = InstallSnapshotResult.NOT_LEADER;
        server.installSnapshot(chunk("two", 0));
        installed = InstallSnapshotResult.SUCCESS;
        server.installSnapshot(chunk("three", 0));
        String call = "installSnapshot";
        assertThat(events).containsExactly(call, "one", "sync", call, call, call, "three");
    }

    /** Ratis itself would try again at once. */
    @Test
    void afterAPartOfACheckpointThatCannotBeSentThereIsAPause() throws IOException {
        RaftServerRpc rpc = asking(voting);
        rpc.installSnapshot(chunk("one", 0));
        unreachable = true;
        assertThatThrownBy(() -> rpc.installSnapshot(chunk("one", 1)))
                .isInstanceOf(ConnectException.class);
        assertThat(events).containsExactly("installSnapshot", "installSnapshot", "pause");
    }

    private static InstallSnapshotRequestProto chunk(String attempt, int index) {
        return InstallSnapshotRequestProto.newBuilder()
                .setServerRequest(RaftMessages.head(CONFIG, 2))
                .setSnapshotChunk(
                        InstallSnapshotRequestProto.SnapshotChunkProto.newBuilder()
                                .setRequestId(attempt)
                                .setRequestIndex(index))
                .build();
    }

    private static void append(RaftServer server) throws IOException {
        server.appendEntriesAsync(RaftMessages.append(CONFIG, 2)).join();
    }

    private static RequestVoteRequestProto vote() {
        return RequestVoteRequestProto.newBuilder()
                .setServerRequest(RaftMessages.head(CONFIG, 2))
                .build();
    }

    private RaftServer answering(TermSync by) throws IOException {
        return answering(by, voting);
    }

    private RaftServer answering(TermSync by, VotingRight right) throws IOException {
        return SyncedTransport.answering(fake(RaftServer.class), watch(by, right));
    }

    private RaftServerRpc asking(VotingRight right) throws IOException {
        return SyncedTransport.asking(
                fake(RaftServerRpc.class), watch(sync, right), () -> events.add("pause"));
    }

    private SyncedTransport.Watch watch(TermSync by, VotingRight right) throws IOException {
        RaftPort port =
                new RaftPort(
                        CONFIG,
                        null,
                        new ListState(directory.resolve("list")),
                        NanoClock.MONOTONIC);
        return new SyncedTransport.Watch(
                port, by, right, new FollowerProgress(), events::add, member -> {});
    }

    private VotingRight voting(VotingRight.State state) {
        return new VotingRight(
                state, next -> events.add("write " + next), (reason, cause) -> events.add(reason));
    }

    private <T> T fake(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> {
                            events.add(method.getName());
                            if (unreachable) {
                                throw new ConnectException("refused");
                            }
                            return switch (method.getName()) {
                                case "requestVote" ->
                                        RequestVoteReplyProto.newBuilder()
                                                .setServerReply(
                                                        RaftRpcReplyProto.newBuilder()
                                                                .setSuccess(true))
                                                .build();
                                case "installSnapshot" ->
                                        InstallSnapshotReplyProto.newBuilder()
                                                .setTerm(term)
                                                .setResult(installed)
                                                .build();
                                default ->
                                        CompletableFuture.completedFuture(
                                                AppendEntriesReplyProto.newBuilder()
                                                        .setTerm(term)
                                                        .build());
                            };
                        }));
    }
}
