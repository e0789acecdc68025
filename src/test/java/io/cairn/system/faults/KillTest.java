package io.cairn.system.faults;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * kill -9 of every process at random points under load: nothing acknowledged is lost.
 *
 * <p>{@code -Dcairn.test.kills=N} and {@code -Dcairn.test.kills.processes=N} set the number of
 * kills (embedded, separate processes), {@code -Dcairn.test.seed} repeats a run's choices.
 */
@Tag("slow")
@Tag("part-5")
class KillTest {
    private static final long SEED = TestSeed.of("KillTest");

    @Test
    void embeddedClusterLosesNothing() {
        killAndVerify(Integer.getInteger("cairn.test.kills", 3));
    }

    @Test
    void separateProcessesLoseNothing() {
        killAndVerify(Integer.getInteger("cairn.test.kills.processes", 1), "--processes");
    }

    private static void killAndVerify(int kills, String... upOptions) {
        System.out.printf("KillTest %d kills, -Dcairn.test.seed=%d%n", kills, SEED);
        SplittableRandom random = new SplittableRandom(SEED);
        try (Cluster cluster = Cluster.temporary(upOptions)) {
            cluster.up();
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            for (int i = 0; i < kills; i++) {
                work.start();
                work.awaitAcknowledged(20 + random.nextInt(600));
                cluster.kill9();
                work.join();
                cluster.up();
                work.verify();
                System.out.printf(
                        "kill %d: %d operations acknowledged so far, nothing lost%n",
                        i + 1, work.acknowledged());
            }
        }
    }
}
