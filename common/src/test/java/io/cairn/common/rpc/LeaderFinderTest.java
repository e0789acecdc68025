package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.seed.TestSeed;
import io.cairn.common.time.ManualClock;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The order in which members are asked, and the pauses, under a clock of the test's own. */
class LeaderFinderTest {
    private static final RpcStatus UNREACHABLE =
            RpcStatus.fail(Errno.EHOSTUNREACH, Advice.RETRY, "connection refused");
    private static final RpcStatus NOT_READY = RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "soon");
    private static final BackOff WITHOUT_CHANCE =
            new BackOff(Duration.ofMillis(2), Duration.ofMillis(512), () -> 0);
    private static final long MAX_PAUSE_NANOS = Duration.ofMillis(512).toNanos();

    private final ManualClock clock = new ManualClock();
    private final LeaderFinder finder = new LeaderFinder(members(3), WITHOUT_CHANCE);

    private static InetSocketAddress member(int n) {
        return RpcAddress.parse("10.0.0." + n + ":7000");
    }

    private static String text(int n) {
        return RpcAddress.format(member(n));
    }

    private static List<InetSocketAddress> members(int count) {
        return IntStream.rangeClosed(1, count).mapToObj(LeaderFinderTest::member).toList();
    }

    private static RpcStatus notLeader(String named) {
        return RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, named);
    }

    /** The current member answers this; the pause passes. Returns the pause in milliseconds. */
    private double answers(RpcStatus status) {
        long pause = finder.failed(finder.current(), status);
        clock.advance(Duration.ofNanos(pause));
        return pause / 1e6;
    }

    private void assertAsks(int... numbers) {
        for (int n : numbers) {
            assertThat(finder.current()).isEqualTo(member(n));
            answers(UNREACHABLE);
        }
    }

    @Test
    void membersAreAskedInTurnWithAPauseAfterEachRound() {
        assertAsks(1, 2);
        assertThat(clock.nanos()).isZero();
        assertAsks(3);
        assertThat(finder.rounds()).isEqualTo(1);
        assertThat(clock.nanos()).isEqualTo(Duration.ofMillis(2).toNanos());
        assertAsks(1, 2, 3, 1, 2, 3);
        assertThat(clock.nanos()).isEqualTo(Duration.ofMillis(2 + 4 + 8).toNanos());
        assertThat(finder.rounds()).isEqualTo(3);
    }

    @Test
    void pausesHaveABoundAndBeginAnewWhenALeaderIsFound() {
        for (int i = 0; i < 100; i++) {
            assertAsks(1, 2, 3);
        }
        long before = clock.nanos();
        assertAsks(1, 2, 3);
        assertThat(clock.nanos() - before).isEqualTo(MAX_PAUSE_NANOS);
        finder.found(finder.current());
        assertThat(finder.rounds()).isZero();
        answers(UNREACHABLE);
        answers(UNREACHABLE);
        assertThat(answers(UNREACHABLE)).isEqualTo(2);
    }

    @Test
    void theMemberThatIsNamedIsAskedNext() {
        assertThat(answers(notLeader(text(3)))).isZero();
        assertThat(finder.current()).isEqualTo(member(3));
        // Not the leader any more, but nobody else was asked in vain.
        assertThat(answers(notLeader(text(2)))).isZero();
        assertThat(finder.current()).isEqualTo(member(2));
        finder.found(member(2));
        assertThat(finder.current()).isEqualTo(member(2));
    }

    @Test
    void aLeaderBeyondTheMembersKnownIsFound() {
        answers(notLeader("mds-9.example:7000"));
        assertThat(finder.current()).isEqualTo(RpcAddress.parse("mds-9.example:7000"));
        assertAsksAfterThat();
    }

    private void assertAsksAfterThat() {
        answers(UNREACHABLE);
        assertAsks(2, 3);
        assertThat(finder.rounds()).isEqualTo(1);
    }

    @Test
    void membersThatNameEachOtherAreAskedOnceInARound() {
        assertThat(answers(notLeader(text(2)))).isZero();
        assertThat(finder.current()).isEqualTo(member(2));
        assertThat(answers(notLeader(text(1)))).isZero();
        assertThat(finder.current()).isEqualTo(member(3));
        assertThat(answers(notLeader(""))).isEqualTo(2);
        assertThat(finder.rounds()).isEqualTo(1);
    }

    @Test
    void nonsenseInsteadOfAnAddressIsPassedOver() {
        assertThat(answers(notLeader("who knows"))).isZero();
        assertThat(finder.current()).isEqualTo(member(2));
        finder.learn(List.of("nonsense", text(7)));
        assertThat(finder).hasToString("10.0.0.1:7000, 10.0.0.2:7000, 10.0.0.3:7000, " + text(7));
    }

    @Test
    void aLeaderThatFailsIsLeftForTheOneItNames() {
        finder.found(member(1));
        finder.served();
        assertThat(answers(notLeader(text(3)))).isZero();
        assertThat(finder.current()).isEqualTo(member(3));
    }

    @Test
    void aLeaderThatCannotBeReachedIsLeftForTheNext() {
        finder.found(member(1));
        assertThat(answers(RpcStatus.fail(Errno.ETIMEDOUT, Advice.RETRY, "late"))).isZero();
        assertThat(finder.current()).isEqualTo(member(2));
    }

    @Test
    void aLeaderThatAnswersIsAskedAgainWithLongerPausesUntilItServes() {
        double[] pauses = {0, 2, 4, 8};
        for (double pause : pauses) {
            finder.found(member(2));
            assertThat(answers(NOT_READY)).isEqualTo(pause);
            assertThat(finder.current()).isEqualTo(member(2));
        }
        finder.found(member(2));
        finder.served();
        assertThat(answers(NOT_READY)).isZero();
        // The search that follows goes on where it does not lead.
        answers(NOT_READY);
        assertThat(finder.current()).isNotEqualTo(member(2));
    }

    @Test
    void anAnswerOfAMemberThatIsNotCurrentAnyMoreChangesNothing() {
        answers(UNREACHABLE);
        assertThat(finder.failed(member(1), notLeader(text(3)))).isZero();
        assertThat(finder.current()).isEqualTo(member(2));
        finder.found(member(3));
        assertThat(finder.current()).isEqualTo(member(3));
    }

    @Test
    void membersOfTheMapJoinTheConfiguredOnes() {
        LeaderFinder one = new LeaderFinder(members(1), WITHOUT_CHANCE);
        one.learn(List.of(text(1), text(4), text(5)));
        List<InetSocketAddress> asked = new ArrayList<>();
        while (one.rounds() == 0) {
            asked.add(one.current());
            one.failed(one.current(), UNREACHABLE);
        }
        assertThat(asked).containsExactly(member(1), member(4), member(5));
        one.learn(List.of(text(5)));
        assertThat(one).hasToString(text(1) + ", " + text(5));
    }

    @Test
    void saysWhoFailedLast() {
        assertThat(finder.lastFailure()).isEqualTo("no MDS member was asked yet");
        answers(UNREACHABLE);
        assertThat(finder.lastFailure())
                .startsWith(text(1) + ": EHOSTUNREACH")
                .endsWith("connection refused");
    }

    /**
     * Members that come, go, lead, name the leader, somebody else or nobody: each is asked at most
     * once in a round, no pause is longer than the bound, and once one leads and all stay as they
     * are, it is found within two rounds.
     */
    @Test
    void anyLeaderIsFound() {
        Random random = TestSeed.random("LeaderFinderTest");
        for (int run = 0; run < 2000; run++) {
            int count = 1 + random.nextInt(5);
            LeaderFinder wanted =
                    new LeaderFinder(
                            members(count),
                            new BackOff(Duration.ofMillis(2), Duration.ofMillis(512), random));
            for (int i = random.nextInt(30); i > 0; i--) {
                search(wanted, count, 0, random);
            }
            int leader = 1 + random.nextInt(count);
            int rounds = wanted.rounds();
            while (!search(wanted, count, leader, random)) {
                assertThat(wanted.rounds() - rounds).as("run %d", run).isLessThan(2);
            }
            assertThat(wanted.current()).isEqualTo(member(leader));
        }
    }

    private final Map<InetSocketAddress, Integer> askedInRound = new HashMap<>();
    private int round;

    /** Asks once; leader 0: nobody leads. True when it was the leader that was asked. */
    private boolean search(LeaderFinder wanted, int count, int leader, Random random) {
        InetSocketAddress asked = wanted.current();
        if (wanted.rounds() != round) {
            round = wanted.rounds();
            askedInRound.clear();
        }
        if (asked.equals(member(leader))) {
            wanted.found(asked);
            askedInRound.clear();
            round = 0;
            return true;
        }
        assertThat(askedInRound.merge(asked, 1, Integer::sum)).isEqualTo(1);
        RpcStatus status =
                switch (random.nextInt(5)) {
                    case 0 -> UNREACHABLE;
                    case 1 -> NOT_READY;
                    case 2 -> notLeader("");
                    case 3 -> notLeader(leader == 0 ? "" : text(leader));
                    default -> notLeader(text(1 + random.nextInt(count)));
                };
        long pause = wanted.failed(asked, status);
        assertThat(pause).isBetween(0L, MAX_PAUSE_NANOS);
        return false;
    }
}
