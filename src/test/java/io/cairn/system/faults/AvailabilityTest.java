package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * fio verifies what it writes, 32 requests deep, while data servers and the leading metadata server
 * are killed and suspended in turn, one at a time, and return: {@code
 * -Dcairn.test.availability.seconds=300}. It prints the longest stall of each kind of failure.
 */
@Tag("slow")
@Tag("part-2")
class AvailabilityTest {
    private static final int SECONDS = Integer.getInteger("cairn.test.availability.seconds", 20);

    /** Of a victim: from a hiccup to longer than anybody waits for it. */
    private static final int LONGEST_AWAY_MILLIS = 10_000;

    private static final int MEMBERS = 3;
    private static final int DATA_SERVERS = 4;

    private final long seed = TestSeed.of("AvailabilityTest");
    private final Random random = new Random(seed);

    /** When the last failure of what kind before a moment began, in milliseconds of fio's run. */
    private final TreeMap<Long, String> faults = new TreeMap<>();

    @Test
    void nothingFailsWhileServersFailInTurn() throws Exception {
        try (Cluster cluster =
                Cluster.temporary("--processes", "--mds", "" + MEMBERS, "--data", "" + DATA_SERVERS)
                        .up()) {
            Path report = cluster.base().resolve("fio.json");
            Path latencies = cluster.base().resolve("fio");
            Process fio = fio(cluster, report, latencies);
            long begun = System.nanoTime();
            try {
                while (fio.isAlive()) {
                    hurt(cluster, begun, fio);
                    awaitWhole(cluster, fio);
                }
            } finally {
                fio.destroyForcibly();
                Cluster.awaitEnd(fio.toHandle());
            }
            assertThat(fio.exitValue())
                    .as(() -> "seed " + seed + "\n" + read(report) + cluster.logs())
                    .isZero();
            JsonNode job = JsonMapper.shared().readTree(json(report)).path("jobs").path(0);
            System.out.printf(
                    "AvailabilityTest: %d faults in %d s, longest write %.1f s, longest read %.1f s%n",
                    faults.size(), SECONDS, longest(job, "write"), longest(job, "read"));
            longestByKind(Path.of(latencies + "_lat.1.log"))
                    .forEach((kind, seconds) ->
                            System.out.printf("AvailabilityTest: %s: %.1f s%n", kind, seconds));
            assertThat(job.path("error").asInt()).isZero();
        }
    }

    /** The longest request that ended after a failure of each kind and before the next failure. */
    private SortedMap<String, Double> longestByKind(Path latencies) throws IOException {
        SortedMap<String, Double> longest = new TreeMap<>();
        for (String line : Files.readAllLines(latencies)) {
            String[] values = line.split(", ", -1);
            Map.@Nullable Entry<Long, String> fault = faults.floorEntry(Long.parseLong(values[0]));
            if (fault != null) {
                longest.merge(fault.getValue(), Long.parseLong(values[1]) / 1e9, Math::max);
            }
        }
        return longest;
    }

    /**
     * @param latencies the beginning of the names of its logs: the longest request of each tenth of
     *     a second
     */
    private static Process fio(Cluster cluster, Path report, Path latencies) throws Exception {
        return new ProcessBuilder(
                        "fio",
                        "--name=available",
                        "--directory=" + cluster.mnt(),
                        "--rw=randwrite",
                        "--bs=16k",
                        "--size=64m",
                        "--iodepth=32",
                        "--ioengine=libaio",
                        "--direct=1",
                        "--verify=crc32c",
                        "--verify_backlog=512",
                        "--verify_fatal=1",
                        "--verify_state_save=0",
                        "--time_based",
                        "--runtime=" + SECONDS,
                        "--write_lat_log=" + latencies,
                        "--log_avg_msec=100",
                        "--log_max_value=1",
                        "--output-format=json",
                        "--output=" + report)
                .redirectErrorStream(true)
                .redirectOutput(cluster.base().resolve("fio.out").toFile())
                .start();
    }

    /** Data servers and the leader in turn, killed or suspended. */
    private void hurt(Cluster cluster, long begun, Process work) throws InterruptedException {
        String victim =
                faults.size() % 3 == 2
                        ? "mds-" + cluster.status().path("leader").asInt()
                        : "data-" + (1 + random.nextInt(DATA_SERVERS));
        long millis = 1000 + random.nextInt(LONGEST_AWAY_MILLIS - 1000);
        boolean suspended = random.nextBoolean();
        faults.put(
                TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun),
                (victim.startsWith("mds") ? "leading metadata server " : "data server ")
                        + (suspended ? "suspended" : "killed"));
        if (suspended) {
            try (Stall _ = new Stall(cluster, victim)) {
                var _ = work.waitFor(millis, TimeUnit.MILLISECONDS);
            }
        } else {
            Cluster.kill9(List.of(cluster.process(victim).orElseThrow()));
            var _ = work.waitFor(millis, TimeUnit.MILLISECONDS);
            cluster.start(victim, victim.startsWith("mds") ? "mds" : "dataserver");
        }
    }

    /** One failure at a time is promised to be survived, the next comes when it is over. */
    private static void awaitWhole(Cluster cluster, Process work) {
        Awaitility.await("everybody is back")
                .ignoreExceptionsMatching(e -> true) // no leader answers for a moment
                .atMost(Duration.ofMinutes(3))
                .until(() -> !work.isAlive() || cluster.isWhole());
    }

    private static double longest(JsonNode job, String direction) {
        return job.path(direction).path("clat_ns").path("max").asDouble() / 1e9;
    }

    /** fio puts warnings before it. */
    private static String json(Path report) {
        String all = read(report);
        return all.substring(all.indexOf('{'));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return file + " cannot be read: " + e;
        }
    }
}
