package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a server may have in flight at once. */
class SpaceLedgerTest {
    private static final int[] DISKS = {1, 2, 3};

    @Test
    void isBoundByItsShareOfALog() {
        SpaceLedger ledger = new SpaceLedger(0, 1000);
        assertThat(ledger.withinBound(0, 1000)).isTrue();
        ledger.shareOfLog(3600, 3);
        ledger.charge(DISKS, 100);
        assertThat(ledger.withinBound(0, 200)).isTrue();
        assertThat(ledger.withinBound(0, 201)).isFalse();
        ledger.shareOfLog(1 << 20, 3);
        assertThat(ledger.withinBound(0, 900)).isTrue();
        assertThat(ledger.withinBound(0, 901)).isFalse();
    }

    @Test
    void isBoundByItsShareOfTheMemory() {
        SpaceLedger ledger = new SpaceLedger(0, 64L << 20);
        ledger.shareOfMemory(70L << 20, 3);
        assertThat(ledger.boundBytes()).isEqualTo(10L << 20);
        ledger.shareOfMemory(70L << 20, 17);
        assertThat(ledger.boundBytes()).isEqualTo(2L << 20);
        ledger.shareOfMemory(10L << 30, 3);
        assertThat(ledger.boundBytes()).isEqualTo(64L << 20);
    }

    @Test
    void aSingleOperationOfAnySizePasses() {
        SpaceLedger ledger = new SpaceLedger(0, 1000);
        ledger.shareOfLog(400, 30);
        assertThat(ledger.withinBound(0, 4 << 20)).isTrue();
        ledger.charge(DISKS, 4 << 20);
        assertThat(ledger.withinBound(0, 1)).isFalse();
        ledger.release(DISKS, 4 << 20);
        assertThat(ledger.withinBound(0, 1)).isTrue();
    }

    @Test
    void groupsThatAreStuckLeaveSomethingForOthers() {
        SpaceLedger ledger = new SpaceLedger(0, 1200);
        int[] stuck = new int[5];
        for (int round = 0; round < 1200; round++) {
            for (int pg = 0; pg < stuck.length; pg++) {
                if (ledger.withinBound(stuck[pg], 1)) {
                    ledger.charge(DISKS, 1);
                    stuck[pg]++;
                }
            }
        }
        assertThat(stuck).containsOnly(200);
        assertThat(ledger.withinBound(0, 200)).isTrue();
        assertThat(ledger.withinBound(200, 1)).isFalse();
    }
}
