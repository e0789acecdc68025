package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Load;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random work of several processes on two mounts, each against a model, while another job keeps the
 * machine busy and servers are killed or suspended, for a moment or longer than anybody waits:
 * {@code make soak MINUTES=n}. What it does to files is in {@code soak.py}.
 */
@Tag("slow")
@Tag("part-1")
class SoakTest {
    private static final int SECONDS =
            (int) (60 * Double.parseDouble(System.getProperty("cairn.test.soak.minutes", "1")));

    private static final int PROCESSES = 3;

    /** Between two kills; a part needs some of it to start. */
    private static final int QUIET_SECONDS = 20;

    /** Of a part that was killed or suspended: long enough to be taken for dead. */
    private static final int LONGEST_AWAY_SECONDS = 15;

    private static final List<String> VICTIMS = List.of("data-1", "data-2", "data-3", "mds-1");

    private final long seed = TestSeed.of("SoakTest");

    @Test
    void noContradictionInRandomWork() throws Exception {
        Random random = new Random(seed);
        try (Cluster cluster = Cluster.temporary("--processes").up();
                Mount second = cluster.mount("second");
                Load load = new Load(second)) {
            Path said = cluster.base().resolve("soak.out");
            Process soak =
                    new ProcessBuilder(
                                    "python3",
                                    Cluster.REPOSITORY
                                            .resolve("src/test/resources/soak.py")
                                            .toString(),
                                    cluster.mnt().toString(),
                                    second.mnt().toString(),
                                    "" + PROCESSES,
                                    "" + SECONDS,
                                    "" + seed)
                            .redirectErrorStream(true)
                            .redirectOutput(said.toFile())
                            .start();
            try {
                int hurts = 0;
                while (!soak.waitFor(QUIET_SECONDS, TimeUnit.SECONDS)) {
                    assertThat(load.isAlive()).as("the load beside it").isTrue();
                    hurt(cluster, VICTIMS.get(random.nextInt(VICTIMS.size())), random, soak);
                    hurts++;
                }
                System.out.printf(
                        "SoakTest: %d restarts and pauses%n%s", hurts, Files.readString(said));
                assertThat(soak.exitValue())
                        .as(() -> "seed " + seed + "\n" + read(said) + cluster.logs())
                        .isZero();
                assertThat(Files.readString(said).lines().filter(l -> l.contains(": ok, ")))
                        .hasSize(PROCESSES);
            } finally {
                end(soak);
            }
        }
    }

    /**
     * Kills the part, or suspends it, and has it go on at once or after a while, if the work lasts.
     */
    private static void hurt(Cluster cluster, String part, Random random, Process soak)
            throws InterruptedException {
        long awayMillis = random.nextBoolean() ? 0 : random.nextInt(1000 * LONGEST_AWAY_SECONDS);
        if (random.nextInt(3) == 0) {
            try (Stall _ = new Stall(cluster, part)) {
                var _ = soak.waitFor(awayMillis, TimeUnit.MILLISECONDS);
            }
        } else {
            Cluster.kill9(List.of(cluster.process(part).orElseThrow()));
            var _ = soak.waitFor(awayMillis, TimeUnit.MILLISECONDS);
            cluster.start(part, part.startsWith("mds") ? "mds" : "dataserver");
        }
    }

    private static void end(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        Cluster.awaitEnd(process.toHandle());
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return file + " cannot be read: " + e;
        }
    }
}
