package io.cairn.client.meta;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SessionLeaseTest {
    private static final long SECOND = 1_000_000_000L;

    private long now = -5 * SECOND;
    private final SessionLease lease = new SessionLease(() -> now);

    @Test
    void itCountsFromWhenTheRequestWasSentLessWhatClocksMayDifferBy() {
        assertThat(lease.holds()).as("before a session is open").isFalse();
        long sent = now;
        now += 3 * SECOND; // the answer takes its time
        lease.opened(sent, 10_000, 10_000);
        assertThat(lease.holds()).isTrue();
        now = sent + 9_799_999_999L;
        assertThat(lease.holds()).isTrue();
        now++;
        assertThat(lease.holds()).isFalse();
    }

    @Test
    void whatIsDelegatedCountsForLess() {
        lease.opened(now, 10_000, 5_000);
        assertThat(lease.delegationsHold()).isTrue();
        now += 5 * SECOND;
        assertThat(lease.delegationsHold()).isFalse();
        assertThat(lease.holds()).isTrue();
        lease.renewed(now);
        assertThat(lease.delegationsHold()).isTrue();
        lease.ended();
        assertThat(lease.delegationsHold()).isFalse();
    }

    @Test
    void aRenewalProlongsItAndTheEndEndsIt() {
        lease.opened(now, 10_000, 10_000);
        now += 20 * SECOND; // asleep
        assertThat(lease.holds()).isFalse();
        lease.renewed(now);
        assertThat(lease.holds()).isTrue();
        lease.ended();
        assertThat(lease.holds()).isFalse();
    }
}
