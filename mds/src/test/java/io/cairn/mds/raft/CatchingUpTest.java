package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A member that has lost its directory, while it is sent what it had. */
final class CatchingUpTest {
    private static final String LARGE = "x".repeat(500_000);

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
        stop(behind);
        for (int i = 0; i < 60; i++) {
            leader.submit(i + LARGE).get(30, TimeUnit.SECONDS);
        }
        leader.submit("acknowledged").get(30, TimeUnit.SECONDS);
        LogMember first = wiped(lost);
        await().atMost(LogMember.PATIENCE)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> first.log.stats().last() >= 2);
        stop(leader);

        stop(first);
        LogMember blank = run(lost.config, StartWord.NONE); // the word is kept
        LogMember third = run(behind.config, StartWord.NONE);
        await().atMost(LogMember.PATIENCE).until(() -> blank.log.refusedVotes() >= 3);
        assertThat(running).noneMatch(LogMember::leads);

        LogMember again = run(leader.config, StartWord.NONE);
        LogMember second = LogMember.awaitLeader(running);
        assertThat(second).isNotSameAs(blank);
        assertThat(second).isNotSameAs(third);
        assertThat(second).isSameAs(again);
        assertThat(second.state.entries()).contains("acknowledged");
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

    private LogMember other(LogMember one, LogMember two) {
        return running.stream().filter(m -> m != one && m != two).findFirst().orElseThrow();
    }
}
