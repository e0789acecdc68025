package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpc;
import org.junit.jupiter.api.Test;

/** What happens in which order. That Ratis goes through it is seen in {@link MetaLogTest}. */
final class SyncedTransportTest {
    private final List<String> events = new ArrayList<>();
    private final TermSync sync =
            new TermSync(() -> events.add("sync"), (reason, cause) -> events.add(reason));
    private long term = 7;
    private InstallSnapshotResult installed = InstallSnapshotResult.SUCCESS;

    @Test
    void aVoteIsDurableBeforeItIsAnswered() throws IOException {
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), sync, events::add);
        server.requestVote(RequestVoteRequestProto.getDefaultInstance());
        server.requestVote(RequestVoteRequestProto.getDefaultInstance());
        assertThat(events).containsExactly("requestVote", "sync", "requestVote", "sync");
    }

    @Test
    void aCandidatesOwnVoteIsDurableBeforeItAsks() throws IOException {
        RaftServerRpc rpc = SyncedTransport.asking(fake(RaftServerRpc.class), sync);
        rpc.requestVote(RequestVoteRequestProto.getDefaultInstance());
        assertThat(events).containsExactly("sync", "requestVote");
    }

    @Test
    void aTermIsDurableBeforeItsFirstEntriesAreAnswered() throws IOException {
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), sync, events::add);
        append(server);
        append(server);
        term = 8;
        append(server);
        String call = "appendEntriesAsync";
        assertThat(events).containsExactly(call, "sync", call, call, "sync");
    }

    @Test
    void whatCannotBeSyncedIsNotAnswered() {
        TermSync failing =
                new TermSync(
                        () -> {
                            throw new IOException("broken");
                        },
                        (reason, cause) -> events.add(cause.getMessage()));
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), failing, events::add);
        assertThatThrownBy(() -> server.requestVote(RequestVoteRequestProto.getDefaultInstance()))
                .isInstanceOf(IOException.class)
                .hasMessage("broken");
        assertThatThrownBy(() -> append(server)).hasRootCauseMessage("broken");
        assertThat(events).containsExactly("requestVote", "broken", "appendEntriesAsync", "broken");
    }

    @Test
    void anAttemptToSendACheckpointIsToldOfOnceAndIfItIsTheLeaders() throws IOException {
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), sync, events::add);
        server.installSnapshot(chunk("one", 0));
        server.installSnapshot(chunk("one", 1));
        installed = InstallSnapshotResult.NOT_LEADER;
        server.installSnapshot(chunk("two", 0));
        installed = InstallSnapshotResult.SUCCESS;
        server.installSnapshot(chunk("three", 0));
        String call = "installSnapshot";
        assertThat(events).containsExactly(call, "one", "sync", call, call, call, "three");
    }

    private static InstallSnapshotRequestProto chunk(String attempt, int index) {
        return InstallSnapshotRequestProto.newBuilder()
                .setSnapshotChunk(
                        InstallSnapshotRequestProto.SnapshotChunkProto.newBuilder()
                                .setRequestId(attempt)
                                .setRequestIndex(index))
                .build();
    }

    private static void append(RaftServer server) throws IOException {
        server.appendEntriesAsync(AppendEntriesRequestProto.getDefaultInstance()).join();
    }

    private <T> T fake(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> {
                            events.add(method.getName());
                            return switch (method.getName()) {
                                case "requestVote" -> RequestVoteReplyProto.getDefaultInstance();
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
