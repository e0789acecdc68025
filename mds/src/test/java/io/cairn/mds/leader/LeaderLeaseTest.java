package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

final class LeaderLeaseTest {
    private static final long LEASE = 1_000;

    /** Times count from just below the overflow: only differences may matter. */
    private static final long BORN = Long.valueOf(Long.MAX_VALUE - 5_000);

    private final LeaderLease lease = new LeaderLease(3, LEASE, BORN);

    @Test
    void aGroupOfOneNeedsNoLease() {
        assertThat(new LeaderLease(1, LEASE, BORN).valid(BORN)).isTrue();
        assertThat(new LeaderLease(1, LEASE, BORN).servingFromNanos()).isEqualTo(BORN);
    }

    @Test
    void nothingIsServedBeforeAnEarlierLeadersLeaseHasEnded() {
        lease.granted(2, BORN + 900);
        assertThat(lease.valid(BORN + 1_000)).isFalse();
        assertThat(lease.valid(BORN + 1_019)).isFalse();
        assertThat(lease.valid(BORN + 1_020)).isTrue();
    }

    @Test
    void theLeaseRunsFromWhenThePingWasSent() {
        lease.granted(2, BORN + 2_000);
        assertThat(lease.valid(BORN + 2_999)).isTrue();
        assertThat(lease.valid(BORN + 3_000)).isFalse();
    }

    @Test
    void anotherLengthCountsAtOnceButNotForWhatWasWaited() {
        lease.granted(2, BORN + 2_000);
        lease.use(500, BORN);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 1_020);
        assertThat(lease.valid(BORN + 2_499)).isTrue();
        assertThat(lease.valid(BORN + 2_500)).isFalse();
        lease.use(3_000, BORN);
        assertThat(lease.valid(BORN + 4_999)).isTrue();
        assertThat(lease.valid(BORN + 5_000)).isFalse();
    }

    @Test
    void aMajorityWithoutAMemberConfirmsTheLeaderToIt() {
        LeaderLease five = new LeaderLease(5, LEASE, BORN);
        five.granted(2, BORN + 100);
        five.granted(3, BORN + 200);
        five.granted(4, BORN + 300);
        assertThat(five.confirmedWithout(5, BORN + 100)).isTrue();
        assertThat(five.confirmedWithout(5, BORN + 200)).as("not after it").isFalse();
        assertThat(five.confirmedWithout(4, BORN + 100)).as("not by itself").isFalse();
        assertThat(five.confirmedWithout(4, BORN + 99)).isTrue();
        lease.granted(2, BORN + 100);
        assertThat(lease.confirmedWithout(3, BORN + 99)).isTrue();
        assertThat(lease.confirmedWithout(2, BORN + 99)).isFalse();
    }

    @Test
    void nobodyAnsweredNobodyIsServed() {
        assertThat(lease.valid(BORN + 2_000)).isFalse();
    }

    @Test
    void anOldAnswerThatArrivesLateDoesNotShortenTheLease() {
        lease.granted(2, BORN + 2_000);
        lease.granted(2, BORN + 1_500);
        lease.granted(3, BORN + 1_000);
        assertThat(lease.valid(BORN + 2_999)).isTrue();
    }

    @Test
    void ofFiveMembersTwoOthersAreNeeded() {
        LeaderLease five = new LeaderLease(5, LEASE, BORN);
        five.granted(2, BORN + 2_000);
        assertThat(five.valid(BORN + 2_100)).isFalse();
        five.granted(3, BORN + 1_800);
        assertThat(five.valid(BORN + 2_100)).isTrue();
        assertThat(five.valid(BORN + 2_799)).isTrue();
        assertThat(five.valid(BORN + 2_800)).isFalse();
        five.granted(4, BORN + 2_500);
        assertThat(five.valid(BORN + 2_999)).isTrue();
        assertThat(five.valid(BORN + 3_000)).isFalse();
    }

    @Test
    void itCountsByTheMembersOfTheMoment() {
        LeaderLease growing = new LeaderLease(1, LEASE, BORN);
        assertThat(growing.valid(BORN + 1)).isTrue();
        growing.granted(2, BORN + 2_000); // not a member yet
        growing.voters(Set.of(2));
        assertThat(growing.valid(BORN + 2_500)).isTrue();
        assertThat(growing.valid(BORN + 3_000)).isFalse();
        growing.voters(Set.of(2, 3, 4)); // two others are needed
        growing.granted(2, BORN + 3_000);
        assertThat(growing.valid(BORN + 3_100)).isFalse();
        growing.granted(3, BORN + 3_050);
        assertThat(growing.valid(BORN + 3_999)).isTrue();
        growing.voters(Set.of(3, 4)); // the one that was removed does not count
        growing.granted(2, BORN + 3_900);
        assertThat(growing.valid(BORN + 4_100)).isFalse();
        assertThat(growing.confirmedWithout(3, BORN + 3_800)).isFalse();
        growing.granted(4, BORN + 3_950);
        assertThat(growing.valid(BORN + 4_100)).isTrue();
        assertThat(growing.confirmedWithout(3, BORN + 3_800)).isTrue();
    }

    @Test
    void aLeaderOfWhatTurnsOutToBeMoreThanOneWaitsToo() {
        LeaderLease lone = new LeaderLease(1, LEASE, BORN);
        lone.voters(Set.of(2, 3));
        lone.granted(2, BORN + 900);
        assertThat(lone.servingFromNanos()).isEqualTo(BORN + 1_020);
        assertThat(lone.valid(BORN + 1_000)).isFalse();
        assertThat(lone.valid(BORN + 1_020)).isTrue();
    }

    @Test
    void aLoneLeaderWaitsForWhatAnEarlierProcessLent() {
        LeaderLease restarted = new LeaderLease(1, LEASE, BORN, true);
        assertThat(restarted.servingFromNanos()).isEqualTo(BORN + 1_020);
        assertThat(restarted.valid(BORN + 1_019)).isFalse();
        assertThat(restarted.leftNanos(BORN + 1_019)).isZero();
        assertThat(restarted.valid(BORN + 1_020)).isTrue();
        assertThat(restarted.leftNanos(BORN + 1_020)).isEqualTo(LEASE);
    }

    @Test
    void nothingIsLentForLongerThanASecond() {
        long second = LeaderLease.MAX_LOAN_NANOS;
        LeaderLease minute = new LeaderLease(1, 60 * second, BORN, true);
        assertThat(minute.servingFromNanos()).isEqualTo(BORN + second * 102 / 100);
        assertThat(minute.leftNanos(BORN + 2 * second)).isEqualTo(second);
        minute.use(30 * second, BORN + 2 * second);
        assertThat(minute.longerOver(BORN + 3 * second - 1)).isFalse();
        assertThat(minute.longerOver(BORN + 3 * second)).isTrue();
        minute.voters(Set.of(2));
        assertThat(minute.servingFromNanos())
                .as("others may serve reads for longer")
                .isEqualTo(BORN + second * 6120 / 100);
    }

    @Test
    void whatIsLeftIsCountedFromWhenAMajorityWasLastAsked() {
        assertThat(lease.leftNanos(BORN + 2_000)).isZero();
        lease.granted(2, BORN + 2_000);
        assertThat(lease.leftNanos(BORN + 2_000)).isEqualTo(LEASE);
        assertThat(lease.leftNanos(BORN + 2_300)).isEqualTo(LEASE - 300);
        assertThat(lease.leftNanos(BORN + 3_000)).isZero();
        lease.granted(3, BORN + 2_900);
        assertThat(lease.leftNanos(BORN + 3_000)).isEqualTo(LEASE - 100);
    }

    @Test
    void whatWasLentUnderALongerLeaseIsOverLater() {
        assertThat(lease.longerOver(BORN)).isTrue();
        lease.use(400, BORN + 5_000);
        assertThat(lease.longerOver(BORN + 5_999)).isFalse();
        assertThat(lease.longerOver(BORN + 6_000)).isTrue();
        lease.use(400, BORN + 5_500); // nothing shorter
        assertThat(lease.longerOver(BORN + 6_000)).isTrue();
        lease.use(300, BORN + 5_100);
        assertThat(lease.longerOver(BORN + 5_999)).as("the longest counts").isFalse();
        lease.granted(2, BORN + 6_000);
        assertThat(lease.leftNanos(BORN + 6_000)).isEqualTo(300);
    }

    @Test
    void aLeaderThatWasPausedRefuses() {
        lease.granted(2, BORN + 2_000);
        lease.granted(3, BORN + 2_000);
        assertThat(lease.valid(BORN + 2_500)).isTrue();
        // The process stood still for a minute; its clock did not.
        assertThat(lease.valid(BORN + 62_500)).isFalse();
    }

    // ---- what was granted to earlier leaders ----------------------------------------------

    @Test
    void whatWasGrantedLongAgoIsNotWaitedFor() {
        lease.granted(2, BORN + 50);
        lease.ownEarlier(5_000);
        lease.earlier(2, 5_000, BORN + 60);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 60);
        assertThat(lease.valid(BORN + 59)).isFalse();
        assertThat(lease.valid(BORN + 60)).isTrue();
    }

    @Test
    void theLatestOfAMajorityIsWaitedFor() {
        lease.ownEarlier(510); // 1,020 - 510 / 1.02
        lease.earlier(2, 510, BORN + 20);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 540);
        lease.earlier(3, 5_000, BORN + 100);
        assertThat(lease.servingFromNanos()).as("its own").isEqualTo(BORN + 520);
    }

    @Test
    void withoutItsOwnWordItWaitsForAWholeLease() {
        lease.earlier(2, 5_000, BORN + 20);
        lease.earlier(3, 5_000, BORN + 20);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 1_020);
        lease.ownEarlier(5_000);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 20);
    }

    @Test
    void ofFiveTwoOthersHaveToSayIt() {
        LeaderLease five = new LeaderLease(5, LEASE, BORN);
        five.ownEarlier(5_000);
        five.earlier(2, 5_000, BORN + 20);
        assertThat(five.servingFromNanos()).isEqualTo(BORN + 1_020);
        five.earlier(3, 510, BORN + 30);
        assertThat(five.servingFromNanos()).isEqualTo(BORN + 550);
        five.earlier(4, 5_000, BORN + 40);
        assertThat(five.servingFromNanos()).isEqualTo(BORN + 40);
    }

    @Test
    void theWaitIsNeverLongerThanAWholeLease() {
        lease.ownEarlier(1);
        lease.earlier(2, 1, BORN + 900);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 1_020);
    }

    @Test
    void aMemberThatSaysItAgainIsTakenByItsBestWord() {
        lease.ownEarlier(5_000);
        lease.earlier(2, 510, BORN + 20);
        lease.earlier(2, 700, BORN + 600); // was under way for long
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 540);
    }

    @Test
    void whoIsNoMemberIsNotHeard() {
        lease.voters(Set.of(2, 3));
        lease.ownEarlier(5_000);
        lease.earlier(4, 5_000, BORN + 20);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 1_020);
    }

    @Test
    void onceTheMembersAreOthersNoMajorityIsCounted() {
        lease.voters(Set.of(2, 3));
        lease.ownEarlier(5_000);
        lease.voters(Set.of(2, 4));
        lease.earlier(2, 5_000, BORN + 20);
        assertThat(lease.servingFromNanos()).isEqualTo(BORN + 1_020);
        LeaderLease growing = new LeaderLease(3, LEASE, BORN);
        growing.ownEarlier(5_000);
        growing.voters(Set.of(2, 3, 4));
        growing.earlier(2, 5_000, BORN + 20);
        growing.earlier(3, 5_000, BORN + 20);
        assertThat(growing.servingFromNanos()).isEqualTo(BORN + 1_020);
    }

    @Test
    void aGroupThatWasOfOneWaitsForAWholeLease() {
        LeaderLease lone = new LeaderLease(1, LEASE, BORN);
        lone.ownEarlier(5_000);
        lone.voters(Set.of(2));
        lone.earlier(2, 5_000, BORN + 20);
        assertThat(lone.servingFromNanos()).isEqualTo(BORN + 1_020);
    }
}
