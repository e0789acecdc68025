package io.cairn.system.posix;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.LeaderKills;
import io.cairn.system.support.Mount;
import io.cairn.system.support.MountScript;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Names in directories that one mount has just made, as all mounts see them: {@code own_names.py}.
 * {@code -Dcairn.test.seconds} sets how long, {@code -Dcairn.test.rounds} how many mounts are
 * killed.
 */
@Tag("native-binding")
class OwnNamesMountsTest {
    private static final int SECONDS = Integer.getInteger("cairn.test.seconds", 20);
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 4);
    private static final double UNTOLD_SECONDS = 0.01;
    private static final Path SCRIPT =
            Cluster.REPOSITORY.resolve("src/test/resources/own_names.py");

    private final long seed = TestSeed.of("OwnNamesMountsTest");

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void allMountsSeeTheSame(int mounts) throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "1", "--data", "1").up()) {
            run(cluster, mounts, MountScript::run);
        }
    }

    @Test
    void alsoWhileLeadersAreKilled() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "1").up()) {
            LeaderKills kills = new LeaderKills(cluster);
            run(cluster, 2, script -> kills.during(script::run));
        }
    }

    private void run(Cluster cluster, int mounts, Consumer<MountScript> how) {
        String[] arguments = {Long.toString(seed), Integer.toString(SECONDS)};
        try (MountScript script =
                new MountScript(cluster, "own_names.py", "own", mounts, arguments)) {
            how.accept(script);
        }
    }

    /** What is left is as it was after some call, and nothing is missing that was synced. */
    @Test
    void aMountThatIsKilledLosesOnlyTheLastNames() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "1", "--data", "1")) {
            cluster.layOut();
            cluster.configure(
                    "mds-1",
                    c -> c + "\n[sessions]\nrenew_interval = \"500ms\"\nexpiry = \"5s\"\n");
            cluster.up();
            cluster.work("own");
            List<String> said = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                Mount doomed = cluster.mount("doomed-" + round);
                Shell.Result result =
                        Shell.run(
                                "python3",
                                SCRIPT.toString(),
                                Long.toString(seed + round),
                                Double.toString(UNTOLD_SECONDS),
                                doomed.mnt().resolve("own").toString(),
                                cluster.mnt().resolve("own").toString(),
                                "crash",
                                Long.toString(doomed.process().pid()));
                doomed.kill();
                said.add(result.ok().out().strip());
            }
            System.out.println(said); // on a machine that is busy none may have lost anything
        }
    }
}
