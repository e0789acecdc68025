package io.cairn.system;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Power cuts: all state lies on a loop-mounted file system that is shut down under load, which
 * loses exactly what was not synced. {@code -Dcairn.test.powercuts=N} cuts per file system.
 */
class PowerTest {
    private static final long SEED = Long.getLong("cairn.test.seed", System.nanoTime());
    private static final int CUTS = Integer.getInteger("cairn.test.powercuts", 2);

    @ParameterizedTest
    @ValueSource(strings = {"xfs", "ext4"})
    void nothingAcknowledgedIsLost(String type) throws IOException {
        System.out.printf("PowerTest %s %d cuts, -Dcairn.test.seed=%d%n", type, CUTS, SEED);
        SplittableRandom random = new SplittableRandom(SEED);
        Path base = Files.createTempDirectory("cairn-power");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), type, "6G");
                Cluster cluster = new Cluster(base, disk.mountPoint().resolve("state"))) {
            cluster.up();
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            for (int i = 0; i < CUTS; i++) {
                long before = work.acknowledged();
                work.start();
                Awaitility.await("operations before cut " + i)
                        .atMost(Duration.ofMinutes(2))
                        .until(() -> work.acknowledged() > before + 20);
                // The random point of the cut, not a wait for something to happen.
                LockSupport.parkNanos(MILLISECONDS.toNanos(random.nextInt(1500)));
                List<ProcessHandle> servers = cluster.processes();
                disk.cutPower();
                // The servers must notice and stop by themselves; what does not is killed.
                Cluster.kill9(servers);
                work.join();
                cluster.detach();
                disk.remount();
                cluster.up();
                work.verify();
                System.out.printf(
                        "%s power cut %d: %d operations acknowledged so far, nothing lost%n",
                        type, i + 1, work.acknowledged());
            }
        }
    }
}
