package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.thirdparty.io.netty.channel.EventLoopGroup;
import org.apache.ratis.thirdparty.io.netty.channel.nio.NioEventLoopGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A member that has lost its directory, while it is sent what it had. */
final class CatchingUpTest {
    @TempDir Path directory;
    private final List<LogMember> running = new ArrayList<>();

    /**
     * The leader dies when the lost member has some entries again, but not the one that only these
     * two had: neither the lost member nor, with its vote, the third one may lead.
     */
    @Test
    void oneThatHasPartOfItsLogDoesNotVote() throws Exception {
        LogMember leader = start(Transport.NETTY);
        LogMember lost = other(leader, leader);
        LogMember behind = other(leader, lost);
        leader.submit("first").get(30, TimeUnit.SECONDS);
        LogMember.awaitEntries(lost, List.of("first"));
        LogMember.awaitEntries(behind, List.of("first"));
        stop(lost);
        Path part = directory.resolve("part");
        copy(lost.config.directory(), part);
        LogMember back = run(lost.config, StartWord.NONE);
        LogMember.awaitEntries(back, List.of("first"));
        stop(behind);
        leader.submit("acknowledged").get(30, TimeUnit.SECONDS);
        stop(back);
        stop(leader);

        // As far as it had come when its leader died.
        FileTree.delete(lost.config.directory());
        Files.deleteIfExists(directory.resolve("list-" + lost.config.memberId()));
        copy(part, lost.config.directory());
        try (MemberDirectory joining = MemberDirectory.open(lost.config, StartWord.NONE)) {
            joining.record(VotingRight.State.JOINING);
        }
        LogMember again = run(lost.config, StartWord.NONE);
        run(behind.config, StartWord.NONE);
        await().atMost(LogMember.PATIENCE).until(() -> again.log.refusedVotes() >= 3);
        assertThat(running).noneMatch(LogMember::leads);

        LogMember first = run(leader.config, StartWord.NONE);
        assertThat(LogMember.awaitLeader(running)).isSameAs(first);
        assertThat(first.state.entries()).containsExactly("first", "acknowledged");
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void anIdleLeaderSendsItEverythingAnewAndThenItVotes(Transport transport) throws Exception {
        LogMember leader = start(transport);
        LogMember lost = other(leader, leader);
        for (int i = 0; i < 10; i++) {
            leader.submit("e" + i).get(30, TimeUnit.SECONDS);
        }
        LogMember.awaitEntries(lost, leader.state.entries());
        assertThat(lost.state.entries()).hasSize(10);
        LogMember blank = wiped(lost);
        LogMember.awaitEntries(blank, leader.state.entries());
        assertThat(blank.log.votes()).isFalse();

        blank.log.joinUpTo(blank.log.joining(), leader.log.term(), leader.log.lastIndex());
        await().atMost(LogMember.PATIENCE).until(blank.log::votes);
        stop(leader);
        LogMember second = LogMember.awaitLeader(running);
        second.submit("more").get(30, TimeUnit.SECONDS);
        assertThat(second.state.entries()).hasSize(11);
        LogMember.awaitEntries(blank, second.state.entries());
        assertThat(running).allSatisfy(m -> assertThat(m.failure).hasNullValue());
    }

    /** A leader that was heard of once is away for longer than members wait for one. */
    @Test
    void oneThatHasNoLogYetWaitsForItsLeader() throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 3, Transport.NETTY, 1_000_000);
        LogMember blank = run(group.getFirst(), StartWord.JOIN);
        EventLoopGroup threads = new NioEventLoopGroup(1);
        try {
            // Of term 0: whoever of the two is elected leads a later one.
            RaftMessages.send(blank.config, RaftMessages.append(blank.config, 2), threads);
        } finally {
            threads.shutdownGracefully();
        }
        assertThat(blank.log.leader()).isEqualTo(2);
        await().during(2, TimeUnit.SECONDS)
                .untilAsserted(() -> assertThat(blank.failure).hasNullValue());

        LogMember second = run(group.get(1), StartWord.NEW_CLUSTER);
        LogMember third = run(group.get(2), StartWord.NEW_CLUSTER);
        LogMember leader = LogMember.awaitLeader(List.of(second, third));
        leader.submit("first").get(30, TimeUnit.SECONDS);
        LogMember.awaitEntries(blank, List.of("first"));
        assertThat(running).allSatisfy(m -> assertThat(m.failure).hasNullValue());
    }

    @AfterEach
    void stopAll() throws Exception {
        for (LogMember member : List.copyOf(running)) {
            stop(member);
        }
    }

    private LogMember start(Transport transport) throws Exception {
        for (MetaLogConfig config : LogMember.group(directory, 3, transport, 1_000_000)) {
            run(config, StartWord.NEW_CLUSTER);
        }
        return LogMember.awaitLeader(running);
    }

    private LogMember run(MetaLogConfig config, StartWord word) throws Exception {
        LogMember member = new LogMember(config, word);
        running.add(member);
        return member;
    }

    private void stop(LogMember member) throws Exception {
        running.remove(member);
        member.close();
    }

    /** The same member, started again after it has lost all that it kept. */
    private LogMember wiped(LogMember member) throws Exception {
        stop(member);
        FileTree.delete(member.config.directory());
        Files.deleteIfExists(directory.resolve("list-" + member.config.memberId()));
        return run(member.config, StartWord.JOIN);
    }

    private static void copy(Path from, Path to) throws IOException {
        for (Path file : FileTree.files(from)) {
            Path target = to.resolve(from.relativize(file).toString());
            Files.createDirectories(target.getParent());
            Files.copy(file, target);
        }
    }

    private LogMember other(LogMember one, LogMember two) {
        return running.stream().filter(m -> m != one && m != two).findFirst().orElseThrow();
    }
}
