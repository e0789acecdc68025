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

    @Test
    void aVoteIsDurableBeforeItIsAnswered() throws IOException {
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), sync);
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
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), sync);
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
        RaftServer server = SyncedTransport.answering(fake(RaftServer.class), failing);
        assertThatThrownBy(() -> server.requestVote(RequestVoteRequestProto.getDefaultInstance()))
                .isInstanceOf(IOException.class)
                .hasMessage("broken");
        assertThatThrownBy(() -> append(server)).hasRootCauseMessage("broken");
        assertThat(events).containsExactly("requestVote", "broken", "appendEntriesAsync", "broken");
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
                            return method.getName().equals("requestVote")
                                    ? RequestVoteReplyProto.getDefaultInstance()
                                    : CompletableFuture.completedFuture(
                                            AppendEntriesReplyProto.newBuilder()
                                                    .setTerm(term)
                                                    .build());
                        }));
    }
}
