package io.cairn.dataserver.ground;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.replication.SpaceLedger;
import org.junit.jupiter.api.Test;

/** What operations that wait may take leaves room for everything else. */
class DirectMemoryTest {
    @Test
    void whatAllServersHaveInFlightFitsIntoTheMemoryOfEach() {
        for (long mib : new long[] {256, 512, 1024, 16384}) {
            long max = mib << 20;
            DirectMemory memory = DirectMemory.of(max);
            for (int servers = 1; servers <= 100; servers++) {
                SpaceLedger ledger = new SpaceLedger(0, Long.MAX_VALUE);
                ledger.shareOfMemory(memory.operationBytes(), servers);
                long inLogs = servers * ledger.boundBytes();
                long own = ledger.boundBytes();
                assertThat(own + inLogs + memory.receiveBytes())
                        .as("%d MiB, %d servers", mib, servers)
                        .isLessThan(max / 4 * 3);
            }
        }
    }
}
