package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class EarlierLeasesTest {
    /** Just below the overflow: only differences may matter. */
    private static final long START = Long.valueOf(Long.MAX_VALUE - 500);

    private static final Set<Integer> THREE = Set.of(1, 2, 3);

    private final EarlierLeases earlier = new EarlierLeases(START);

    private OptionalLong grant(long term, long afterStart) {
        return earlier.grant(term, () -> true, () -> START + afterStart);
    }

    @Test
    void whatAnEarlierProcessGrantedCountsAsGrantedWhenThisOneBegan() {
        assertThat(grant(7, 400)).hasValue(400);
        assertThat(grant(7, 900)).hasValue(900);
    }

    @Test
    void itIsCountedFromTheLastGrantToAnyEarlierTerm() {
        grant(7, 400);
        grant(7, 600);
        assertThat(grant(9, 1_000)).hasValue(400);
        assertThat(grant(9, 1_100)).hasValue(500);
        assertThat(grant(10, 1_150)).hasValue(50);
        assertThat(grant(12, 2_150)).hasValue(1_000);
    }

    @Test
    void whatIsNotGrantedIsNotCounted() {
        grant(7, 400);
        assertThat(earlier.grant(8, () -> false, () -> START + 900)).isEmpty();
        assertThat(grant(9, 1_000)).hasValue(600);
    }

    @Test
    void aLeaderOfAnEarlierTermIsGrantedNothingAnyMore() {
        grant(9, 400);
        assertThat(grant(7, 500)).isEmpty();
        assertThat(grant(10, 600)).hasValue(200);
    }

    @Test
    void nothingIsToldThatCouldBeTakenForUnknown() {
        assertThat(grant(7, 0)).hasValue(1);
        assertThat(grant(8, -5)).as("by a thread that was slow").hasValue(1);
    }

    @Test
    void itsOwnLeadershipCountsUntilAnotherTermIsSeen() {
        grant(7, 400);
        assertThat(earlier.lead(8, START + 700)).isEqualTo(300);
        assertThat(grant(9, 5_000)).hasValue(1);
        assertThat(grant(9, 5_100)).hasValue(100);
        assertThat(earlier.lead(10, START + 5_300)).isEqualTo(200);
        assertThat(earlier.lead(12, START + 9_000)).as("its own again").isEqualTo(1);
    }

    @Test
    void membersAreSettledOnceTheyHaveBeenTheSameForLongEnough() {
        assertThat(earlier.settled(THREE, 500, START + 9_000)).as("never told").isFalse();
        earlier.members(THREE, START + 100);
        earlier.members(THREE, START + 400);
        assertThat(earlier.settled(THREE, 500, START + 599)).isFalse();
        assertThat(earlier.settled(THREE, 500, START + 600)).isTrue();
        assertThat(earlier.settled(Set.of(1, 2), 500, START + 600)).as("others").isFalse();
    }

    @Test
    void aChangeOfTheMembersUnsettlesThemEvenIfItIsUndone() {
        earlier.members(THREE, START + 100);
        earlier.members(Set.of(1, 2), START + 900);
        earlier.members(THREE, START + 1_000);
        assertThat(earlier.settled(THREE, 500, START + 1_499)).isFalse();
        assertThat(earlier.settled(THREE, 500, START + 1_500)).isTrue();
    }

    @Test
    void whileTheMembersAreNotKnownTheyAreNotSettled() {
        earlier.members(THREE, START + 100);
        earlier.members(Set.of(), START + 900);
        assertThat(earlier.settled(Set.of(), 500, START + 9_000)).isFalse();
        earlier.members(Set.of(), START + 9_000);
        earlier.members(THREE, START + 9_100);
        assertThat(earlier.settled(THREE, 500, START + 9_599)).isFalse();
        assertThat(earlier.settled(THREE, 500, START + 9_600)).isTrue();
    }
}
