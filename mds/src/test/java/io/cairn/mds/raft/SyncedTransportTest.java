package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.time.NanoClock;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
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
    private InstallSnapshotResult installed = InstallSnapshotResult.SUCCESS;

    @Test
    void aVoteIsDurableBeforeItIsAnswered() throws IOException {
        RaftServer server = answering(sync);
        server.requestVote(vote());
        server.requestVote(vote());
        assertThat(events).containsExactly("requestVote", "sync", "requestVote", "sync");
    }

    @Test
    void aCandidatesOwnVoteIsDurableBeforeItAsks() throws IOException {
        RaftServerRpc rpc = SyncedTransport.asking(fake(RaftServerRpc.class), sync);
        rpc.requestVote(vote());
        assertThat(events).containsExactly("sync", "requestVote");
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
        RaftPort port =
                new RaftPort(
                        CONFIG,
                        null,
                        new ListState(directory.resolve("list")),
                        NanoClock.MONOTONIC);
        return SyncedTransport.answering(fake(RaftServer.class), port, by, events::add);
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
