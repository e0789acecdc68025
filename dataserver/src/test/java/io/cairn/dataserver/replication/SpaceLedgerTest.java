package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a server may have in flight at once. */
class SpaceLedgerTest {
    @Test
    void isBoundByItsShareOfALog() {
        SpaceLedger ledger = new SpaceLedger(0, 1000);
        assertThat(ledger.withinBound(0, 1000)).isTrue();
        ledger.shareOfLog(3600, 3);
        ledger.chargeTotal(100);
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
        ledger.chargeTotal(4 << 20);
        assertThat(ledger.withinBound(0, 1)).isFalse();
        ledger.chargeTotal(-(4 << 20));
        assertThat(ledger.withinBound(0, 1)).isTrue();
    }

    @Test
    void theWindowShrinksWithTheSpaceAndAServerThatHeardNothingBeginsWithTheSmallest() {
        SpaceLedger ledger = new SpaceLedger(0, 1L << 30);
        ledger.servers(3);
        ledger.report(1, Ops.space(6400L << 20));
        ledger.charge(1, 1);
        assertThat(ledger.withinWindow(1, 0, (100 << 20) - 1)).isTrue();
        assertThat(ledger.withinWindow(1, 0, 100 << 20)).isFalse();
        ledger.report(1, Ops.space(640L << 20));
        assertThat(ledger.withinWindow(1, 0, (10 << 20) - 1)).isTrue();
        assertThat(ledger.withinWindow(1, 0, 10 << 20)).isFalse();

        ledger.charge(1, -1);
        ledger.tick(300_000_000L);
        assertThat(ledger.withinWindow(1, 0, 4 << 20)).as("nothing in flight").isTrue();
        ledger.charge(1, 1 << 20);
        assertThat(ledger.withinWindow(1, 0, 1 << 20)).as("others may have filled it").isFalse();
        ledger.report(1, Ops.space(640L << 20));
        assertThat(ledger.withinWindow(1, 0, 1 << 20)).isTrue();
    }

    @Test
    void whatOthersMayHaveInFlightIsLeftAndAsMuchAgainForOverwrites() {
        SpaceLedger ledger = new SpaceLedger(1 << 20, 1L << 30);
        int[] disk = {1};
        ledger.report(1, Ops.space(3 << 20));
        assertThat(ledger.fits(disk, 1 << 20)).isTrue();
        assertThat(ledger.fits(disk, (1 << 20) + 1)).isFalse();
        assertThat(ledger.fitsOverwrite(disk, 3 << 20)).isTrue();
        assertThat(ledger.fitsOverwrite(disk, (3 << 20) + 1)).isFalse();
        ledger.servers(3);
        assertThat(ledger.fits(disk, 1)).isFalse();
        ledger.report(1, Ops.space(20 << 20));
        assertThat(ledger.fits(disk, 4 << 20)).as("others may send as much").isTrue();
        assertThat(ledger.fits(disk, (4 << 20) + 1)).isFalse();
    }

    @Test
    void aDiskThatHasItsDemandTakesAWriteOfAnyClient() {
        for (int servers = 1; servers <= 100; servers++) {
            for (long reserve : new long[] {0, 4 << 20, 1 << 30}) {
                SpaceLedger ledger = new SpaceLedger(reserve, 1L << 30);
                ledger.servers(servers);
                long demand = ledger.demandBytes();
                for (long more : new long[] {0, 1 << 20, 100L << 20, 100L << 30}) {
                    ledger.report(1, Ops.space(demand + more));
                    assertThat(ledger.fits(new int[] {1}, 1 << 20))
                            .as("%d servers, reserve %d, %d more", servers, reserve, more)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void onlyWhereEveryDiskThatRefusesIsGrowingIsItWorthAWait() {
        SpaceLedger ledger = new SpaceLedger(0, 1L << 30);
        int[] disks = {1, 2, 3};
        ledger.report(1, new DiskSpace(1 << 20, true));
        ledger.report(2, new DiskSpace(1L << 30, false));
        ledger.report(3, new DiskSpace(1L << 30, false));
        assertThat(ledger.fits(disks, 1 << 20)).isTrue();
        assertThat(ledger.fits(disks, (1 << 20) + 1)).isFalse();
        assertThat(ledger.isGrowing(disks, (1 << 20) + 1)).isTrue();
        assertThat(ledger.isGrowing(disks, 64 << 20)).as("more than is kept ahead").isFalse();
        ledger.report(2, new DiskSpace(1 << 20, false));
        assertThat(ledger.isGrowing(disks, (1 << 20) + 1)).isFalse();
    }

    @Test
    void groupsThatAreStuckLeaveSomethingForOthers() {
        SpaceLedger ledger = new SpaceLedger(0, 1200);
        int[] stuck = new int[5];
        for (int round = 0; round < 1200; round++) {
            for (int pg = 0; pg < stuck.length; pg++) {
                if (ledger.withinBound(stuck[pg], 1)) {
                    ledger.chargeTotal(1);
                    stuck[pg]++;
                }
            }
        }
        assertThat(stuck).containsOnly(200);
        assertThat(ledger.withinBound(0, 200)).isTrue();
        assertThat(ledger.withinBound(200, 1)).isFalse();
    }

    /** One server of three falls silent, with ten disks that sixty placement groups have. */
    @Test
    void aServerThatIsSilentLeavesRoomForThoseItHasNoPartIn() {
        SpaceLedger ledger = new SpaceLedger(0, 16 << 20);
        for (int disk = 0; disk < 30; disk++) {
            ledger.place(disk, 1 + disk / 10);
        }
        long request = (1 << 20) + 4096;
        PgSpace[] stuck = new PgSpace[60];
        boolean more = true;
        for (int round = 0; more; round++) {
            more = false;
            for (int pg = 0; pg < stuck.length; pg++) {
                int[] backups = {pg % 10, 10 + pg % 10};
                stuck[pg] = stuck[pg] == null ? new PgSpace(ledger) : stuck[pg];
                if (stuck[pg].withinBound(backups, request)) {
                    stuck[pg].charge(backups, request);
                    stuck[pg].acknowledged(backups[1], request); // the other one answers
                    more = true;
                }
            }
            assertThat(round).isLessThan(100);
        }
        assertThat(ledger.inFlightBytes()).isBetween(11L << 20, 12L << 20);
        PgSpace healthy = new PgSpace(ledger);
        int[] backups = {15, 25};
        assertThat(healthy.withinBound(backups, request)).isTrue();
        healthy.charge(backups, request);
        assertThat(new PgSpace(ledger).withinBound(backups, request)).isTrue();
    }

    @Test
    void whatWaitsForADiskGoesWithItToAnotherServer() {
        SpaceLedger ledger = new SpaceLedger(0, 16 << 20);
        int[] disk = {1};
        int[] neighbour = {2};
        ledger.charge(1, 12 << 20);
        ledger.place(1, 1);
        ledger.place(2, 1);
        assertThat(ledger.withinShares(neighbour, 1)).isFalse();
        ledger.place(1, 2);
        ledger.charge(2, 1);
        assertThat(ledger.withinShares(neighbour, 1 << 20)).isTrue();
        assertThat(ledger.withinShares(disk, 1)).isFalse();
        ledger.charge(1, -(12 << 20));
        assertThat(ledger.withinShares(disk, 64 << 20)).as("nothing waits for it").isTrue();
    }

    /** The bound of eighty servers with the memory that the launcher gives. */
    @Test
    void underAVerySmallBoundLargeRequestsPassBesideSmallOnes() {
        SpaceLedger ledger = new SpaceLedger(0, 64 << 20);
        int[] disk = {1};
        for (int servers = 50; servers <= 80; servers++) {
            ledger.shareOfMemory(320 << 20, servers);
            ledger.charge(1, 256 << 10);
            assertThat(ledger.withinShares(disk, (1 << 20) + 4096)).as("%d", servers).isTrue();
            ledger.charge(1, -(256 << 10));
        }
    }

    @Test
    void ofASmallBoundARequestIsLeft() {
        SpaceLedger ledger = new SpaceLedger(0, 3 << 20);
        int[] disk = {1};
        ledger.charge(1, 1 << 20);
        assertThat(ledger.withinShares(disk, 15 << 16)).isTrue();
        assertThat(ledger.withinShares(disk, (15 << 16) + 1)).isFalse();
    }
}
