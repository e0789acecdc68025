package io.cairn.system.posix;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Files that one mount has just made, as others see them: {@code delegated.py}. {@code
 * -Dcairn.test.seconds} sets how long.
 */
@Tag("native-binding")
class DelegatedMountsTest {
    private static final int SECONDS = Integer.getInteger("cairn.test.seconds", 20);
    private static final Path SCRIPT =
            Cluster.REPOSITORY.resolve("src/test/resources/delegated.py");
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final long seed = TestSeed.of("DelegatedMountsTest");

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void nobodySeesWhatWasBefore(int mounts) throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "1", "--data", "1").up()) {
            run(cluster, mounts, SECONDS, "steady", () -> {});
        }
    }

    @Test
    void norWhileLeadersAreKilled() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "1").up()) {
            awaitWhole(cluster);
            run(
                    cluster,
                    3,
                    2 * SECONDS,
                    "killed",
                    () -> {
                        String leader = "mds-" + leader(cluster);
                        Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
                        Awaitility.await("another leader")
                                .ignoreExceptionsMatching(e -> true)
                                .ignoreExceptionsInstanceOf(AssertionError.class)
                                .atMost(PATIENCE)
                                .until(() -> leader(cluster) > 0);
                        cluster.start(leader, "mds");
                        awaitWhole(cluster);
                    });
        }
    }

    private static int leader(Cluster cluster) {
        return cluster.status().path("leader").asInt();
    }

    private static void awaitWhole(Cluster cluster) {
        Awaitility.await("all members are back")
                .ignoreExceptionsMatching(e -> true) // no leader answers for a moment
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .atMost(PATIENCE)
                .until(() ->
                        cluster.status()
                                        .path("mds")
                                        .valueStream()
                                        .filter(m ->
                                                m.path("leader").asBoolean()
                                                        || (m.path("heard").asBoolean()
                                                                && m.path("since_heard_millis")
                                                                                .asInt()
                                                                        < 1000))
                                        .count()
                                == 3);
    }

    /**
     * @param fault done again and again while they look
     */
    private void run(Cluster cluster, int mounts, int seconds, String course, Runnable fault) {
        List<Mount> others = new ArrayList<>();
        try {
            cluster.work("delegated");
            List<String> command =
                    new ArrayList<>(
                            List.of(
                                    "python3",
                                    SCRIPT.toString(),
                                    Long.toString(seed),
                                    Integer.toString(seconds),
                                    course,
                                    cluster.mnt().resolve("delegated").toString()));
            for (int i = 1; i < mounts; i++) {
                Mount other = cluster.mount("other-" + i);
                others.add(other);
                command.add(other.mnt().resolve("delegated").toString());
            }
            CompletableFuture<Shell.Result> looking =
                    CompletableFuture.supplyAsync(() -> Shell.run(command));
            while (!looking.isDone()) {
                fault.run();
                Awaitility.await()
                        .pollDelay(1, TimeUnit.SECONDS)
                        .atMost(PATIENCE)
                        .until(() -> true);
            }
            Shell.Result said = looking.join();
            System.out.println(mounts + " mounts: " + said.out());
            said.ok();
        } finally {
            others.forEach(Mount::close);
        }
    }
}
