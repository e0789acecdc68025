package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** One member of a group under test: its log, its list, and what it was told. */
final class LogMember implements AutoCloseable, MetaLogListener {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    final MetaLogConfig config;
    private final MemberDirectory directory;
    final ListState state;
    final AtomicReference<@Nullable String> failure = new AtomicReference<>();
    volatile long ledTerm;
    final MetaLog log;

    /** As a member of a new cluster if its directory is empty. */
    LogMember(MetaLogConfig config) throws IOException {
        this(config, StartWord.NEW_CLUSTER);
    }

    LogMember(MetaLogConfig config, StartWord word) throws IOException {
        this.config = config;
        this.directory = MemberDirectory.open(config, word);
        try {
            this.state =
                    new ListState(config.directory().resolveSibling("list-" + config.memberId()));
            this.log = MetaLog.start(config, directory, state, this);
        } catch (IOException | RuntimeException e) {
            directory.close();
            throw e;
        }
    }

    static List<MetaLogConfig> group(
            Path directory, int size, MetaLogConfig.Transport transport, long snapshotEntries)
            throws IOException {
        UUID cluster = UUID.randomUUID();
        List<MetaLogConfig.Member> members = new ArrayList<>();
        List<ServerSocket> held = new ArrayList<>();
        for (int id = 1; id <= size; id++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(socket);
            members.add(new MetaLogConfig.Member(id, "127.0.0.1", socket.getLocalPort(), ""));
        }
        for (ServerSocket socket : held) {
            socket.close();
        }
        List<MetaLogConfig> configs = new ArrayList<>();
        for (int id = 1; id <= size; id++) {
            configs.add(
                    new MetaLogConfig(
                            cluster,
                            id,
                            members,
                            directory.resolve("mds-" + id),
                            transport,
                            snapshotEntries,
                            Duration.ofHours(1),
                            0,
                            0,
                            true));
        }
        return configs;
    }

    /** The leader, once all of these members vote. */
    static LogMember awaitLeader(List<LogMember> members) {
        LogMember leader =
                await().atMost(PATIENCE)
                        .pollInterval(Duration.ofMillis(10))
                        .until(
                                () -> members.stream().filter(LogMember::leads).findFirst(),
                                Optional::isPresent)
                        .orElseThrow();
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(members).allMatch(member -> member.letIn(leader)));
        return leader;
    }

    /** Lets a member join as the pings of a metadata server's leader do; whether it votes now. */
    private boolean letIn(LogMember leader) {
        log.joinUpTo(log.joining(), leader.log.term(), leader.log.lastIndex());
        return log.votes();
    }

    static void awaitEntries(LogMember member, List<String> entries) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(member.state.entries()).isEqualTo(entries));
    }

    CompletableFuture<String> submit(String entry) {
        return log.submit(ByteString.copyFromUtf8(entry)).thenApply(ByteString::toStringUtf8);
    }

    boolean leads() {
        return ledTerm > 0 && log.isLeader();
    }

    @Override
    public void becameLeader(long term) {
        ledTerm = term;
    }

    @Override
    public void lostLeadership() {
        ledTerm = 0;
    }

    @Override
    public void leaderChanged(int leader) {}

    @Override
    public void configured(Set<Integer> voters) {}

    @Override
    public void failed(String reason, Throwable cause) {
        failure.compareAndSet(null, reason + ": " + cause);
    }

    @Override
    public void close() throws IOException {
        log.close();
        directory.close();
    }
}
