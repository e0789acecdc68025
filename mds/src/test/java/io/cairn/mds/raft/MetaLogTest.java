package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class MetaLogTest {
    @TempDir Path directory;

    @Test
    void oneMemberAppliesInOrderAndReplaysWhatWasNotFlushed() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 1_000_000).get(0);
        List<String> wanted = new ArrayList<>();
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            List<CompletableFuture<String>> answers = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                wanted.add("e" + i);
                answers.add(member.submit("e" + i));
            }
            for (int i = 0; i < 500; i++) {
                assertThat(answers.get(i).get(30, TimeUnit.SECONDS)).isEqualTo((i + 1) + ":e" + i);
            }
            assertThat(member.state.entries()).isEqualTo(wanted);
            assertThat(member.log.stats().logBytes()).isPositive();
        }
        // As after a kill: nothing of the list was flushed.
        Files.delete(directory.resolve("list-1"));
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            assertThat(member.state.entries()).isEqualTo(wanted);
            assertThat(member.submit("more").get(30, TimeUnit.SECONDS)).isEqualTo("501:more");
            assertThat(member.failure).hasNullValue();
        }
    }

    @Test
    void anEntryThatIsTooLargeFailsAndTheNextOneIsTaken() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 1000).get(0);
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            CompletableFuture<String> large =
                    member.submit("x".repeat(MetaLog.MAX_ENTRY_BYTES + 1));
            assertThatThrownBy(() -> large.get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IllegalArgumentException.class);
            assertThat(member.submit("small").get(30, TimeUnit.SECONDS)).endsWith(":small");
            String largest = "y".repeat(MetaLog.MAX_ENTRY_BYTES);
            assertThat(member.submit(largest).get(30, TimeUnit.SECONDS)).endsWith("y");
        }
    }

    @Test
    void anEntryThatCannotBeDecodedIsNotLogged() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 1000).get(0);
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            CompletableFuture<ByteString> garbage =
                    member.log.submit(ByteString.copyFrom(new byte[] {-1}));
            assertThatThrownBy(() -> garbage.get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IllegalArgumentException.class);
            assertThat(member.submit("next").get(30, TimeUnit.SECONDS)).isEqualTo("1:next");
            assertThat(member.failure).hasNullValue();
        }
    }

    @Test
    void theLogIsPurgedOnlyUpToWhatACheckpointHolds() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 100).get(0);
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            for (int i = 0; i < 350; i++) {
                member.submit("e" + i).get(30, TimeUnit.SECONDS);
            }
            await().atMost(LogMember.PATIENCE).until(() -> member.log.stats().checkpoint() >= 250);
        }
        try (LogMember member = new LogMember(config)) {
            LogMember.awaitLeader(List.of(member));
            assertThat(member.state.entries()).hasSize(350).endsWith("e349");
            try (var left = Files.list(config.directory().resolve("checkpoints"))) {
                assertThat(left).hasSize(1);
            }
        }
    }

    @Test
    void aDirectoryServesOneProcessOneMemberAndOneCluster() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 1000).get(0);
        try (LogMember member = new LogMember(config)) {
            assertThatThrownBy(() -> new LogMember(config))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("is in use by another running metadata server");
            assertThat(member.failure).hasNullValue();
        }
        assertThatThrownBy(() -> new LogMember(with(config, UUID.randomUUID(), 1)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("belongs to another cluster: " + config.clusterId());
        assertThatThrownBy(() -> new LogMember(with(config, config.clusterId(), 2)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("belongs to another member: 1, configured is 2");
    }

    @Test
    void anAddressInUseIsNamed() throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 1, Transport.NETTY, 1000);
        MetaLogConfig config = group.get(0);
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (var taken =
                new java.net.ServerSocket(
                        config.self().raftPort(), 1, java.net.InetAddress.getLoopbackAddress())) {
            assertThat(taken.isBound()).isTrue();
            assertThatThrownBy(() -> new LogMember(config))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(config.self().raftHost() + ":" + taken.getLocalPort());
        }
        // The state may be closed now, and the directory removed.
        Set<Thread> begun = new HashSet<>(Thread.getAllStackTraces().keySet());
        begun.removeAll(before);
        assertThat(begun)
                .extracting(Thread::getName)
                .noneMatch(name -> name.endsWith("-StateMachineUpdater"));
        FileTree.delete(directory.resolve("mds-1"));
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void threeMembersElectFailOverAndCatchUp(Transport transport) throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 3, transport, 50);
        List<LogMember> members = new ArrayList<>();
        try {
            for (MetaLogConfig config : group) {
                members.add(new LogMember(config));
            }
            LogMember leader = LogMember.awaitLeader(members);
            leader.submit("first").get(30, TimeUnit.SECONDS);
            LogMember follower =
                    members.stream().filter(m -> m != leader).findFirst().orElseThrow();
            await().atMost(LogMember.PATIENCE)
                    .until(() -> follower.log.leader() == leader.config.memberId());
            assertThatThrownBy(() -> follower.submit("no").get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(LogUnavailableException.class);

            leader.close();
            members.remove(leader);
            LogMember second = LogMember.awaitLeader(members);
            assertThat(second.ledTerm).isGreaterThan(leader.ledTerm);
            assertThat(second.state.entries()).containsExactly("first");
            for (int i = 0; i < 200; i++) {
                second.submit("e" + i).get(30, TimeUnit.SECONDS);
            }

            // Blank: nothing of the log reaches back that far, so it needs a checkpoint.
            FileTree.delete(leader.config.directory());
            Files.deleteIfExists(directory.resolve("list-" + leader.config.memberId()));
            LogMember blank = new LogMember(leader.config, StartWord.JOIN);
            members.add(blank);
            second.submit("last").get(30, TimeUnit.SECONDS);
            await().atMost(LogMember.PATIENCE)
                    .untilAsserted(() ->
                            assertThat(blank.state.entries())
                                    .isEqualTo(second.state.entries())
                                    .hasSize(202));
            assertThat(blank.log.stats().checkpoint()).isPositive();
            blank.close();
            members.remove(blank);

            // What it was sent is its own now: it starts again from it.
            LogMember again = new LogMember(leader.config);
            members.add(again);
            second.submit("after").get(30, TimeUnit.SECONDS);
            await().atMost(LogMember.PATIENCE).until(() -> again.state.entries().size() == 203);
            assertThat(members).allSatisfy(m -> assertThat(m.failure).hasNullValue());
        } finally {
            for (LogMember member : members) {
                member.close();
            }
        }
    }

    @Test
    void entriesUnderWayEndWhenTheMemberCloses() throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 1, Transport.NETTY, 1000);
        LogMember member = new LogMember(group.get(0));
        LogMember.awaitLeader(List.of(member));
        List<CompletableFuture<ByteString>> answers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            answers.add(member.log.submit(ByteString.copyFromUtf8("e" + i)));
        }
        member.close();
        assertThat(answers).allSatisfy(a -> assertThat(a).isDone());
        assertThat(member.failure).hasNullValue();
    }

    @Test
    void entriesThatCannotBeCommittedEndWhenTheMemberCloses() throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 3, Transport.NETTY, 1000);
        List<LogMember> members = new ArrayList<>();
        for (MetaLogConfig config : group) {
            members.add(new LogMember(config));
        }
        LogMember leader = LogMember.awaitLeader(members);
        for (LogMember member : members) {
            if (member != leader) {
                member.close();
            }
        }
        List<CompletableFuture<ByteString>> answers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            answers.add(leader.log.submit(ByteString.copyFromUtf8("e" + i)));
        }
        leader.close();
        assertThat(answers).allSatisfy(a -> assertThat(a).isCompletedExceptionally());
    }

    private static MetaLogConfig with(MetaLogConfig config, UUID cluster, int id) {
        return new MetaLogConfig(
                cluster,
                id,
                List.of(
                        new MetaLogConfig.Member(
                                id, config.self().raftHost(), config.self().raftPort(), "")),
                config.directory(),
                config.transport(),
                config.snapshotEntries(),
                config.snapshotInterval(),
                0,
                0,
                true);
    }
}
