package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a server may have in flight at once. */
class SpaceLedgerTest {
    private static final int[] DISKS = {1, 2, 3};

    @Test
    void isBoundByItsShareOfALog() {
        SpaceLedger ledger = new SpaceLedger(0, 1000);
        assertThat(ledger.withinBound(1000)).isTrue();
        ledger.shareOfLog(1200, 3);
        ledger.charge(DISKS, 100);
        assertThat(ledger.withinBound(200)).isTrue();
        assertThat(ledger.withinBound(201)).isFalse();
        ledger.shareOfLog(1 << 20, 3);
        assertThat(ledger.withinBound(900)).isTrue();
        assertThat(ledger.withinBound(901)).isFalse();
    }

    @Test
    void aSingleOperationOfAnySizePasses() {
        SpaceLedger ledger = new SpaceLedger(0, 1000);
        ledger.shareOfLog(400, 30);
        assertThat(ledger.withinBound(4 << 20)).isTrue();
        ledger.charge(DISKS, 4 << 20);
        assertThat(ledger.withinBound(1)).isFalse();
        ledger.release(DISKS, 4 << 20);
        assertThat(ledger.withinBound(1)).isTrue();
    }
}
