package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class LeaseTest {
    private static final long MILLI = 1_000_000;

    private long now = 5_000 * MILLI;
    private final Lease lease = new Lease(() -> now);

    @Test
    void itLastsFromWhenTheHeartbeatWasSentLessWhatClocksDrift() {
        long sent = now;
        now += 400 * MILLI;
        assertThat(lease.valid()).as("never answered").isFalse();
        lease.renewed(sent, 1000, 7);
        lease.applied(7);
        assertThat(lease.remainingNanos()).isEqualTo((980 - 400) * MILLI);
        now = sent + 980 * MILLI;
        assertThat(lease.valid()).isFalse();
    }

    @Test
    void itCountsOnceEveryLoopHasAppliedTheMapThatItWasGivenUnder() {
        lease.renewed(now, 1000, 7);
        lease.applied(6);
        assertThat(lease.valid()).as("a loop serves by map 6").isFalse();
        lease.applied(8);
        assertThat(lease.valid()).isTrue();
    }

    @Test
    void theOneBeforeLastsOnWhileTheNextDoesNotCount() {
        lease.renewed(now, 1000, 7);
        lease.applied(7);
        now += 500 * MILLI;
        lease.renewed(now, 1000, 8);
        lease.applied(7);
        assertThat(lease.remainingNanos()).isEqualTo(480 * MILLI);
        lease.applied(8);
        assertThat(lease.remainingNanos()).isEqualTo(980 * MILLI);
    }

    @Test
    void anOldAnswerShortensNothing() {
        lease.renewed(now, 1000, 7);
        lease.applied(7);
        lease.renewed(now - 500 * MILLI, 1000, 7);
        lease.applied(7);
        assertThat(lease.remainingNanos()).isEqualTo(980 * MILLI);
    }
}
