package io.cairn.system.posix;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.LeaderKills;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

    private final long seed = TestSeed.of("DelegatedMountsTest");

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void nobodySeesWhatWasBefore(int mounts) throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "1", "--data", "1").up()) {
            run(cluster, mounts, SECONDS, "steady");
        }
    }

    @Test
    void norWhileLeadersAreKilled() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "1").up()) {
            LeaderKills kills = new LeaderKills(cluster);
            kills.during(() -> run(cluster, 3, 2 * SECONDS, "killed"));
        }
    }

    private Shell.Result run(Cluster cluster, int mounts, int seconds, String course) {
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
            Shell.Result said = Shell.run(command);
            System.out.println(mounts + " mounts: " + said.out());
            return said.ok();
        } finally {
            others.forEach(Mount::close);
        }
    }
}
