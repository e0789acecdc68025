package io.cairn.system.posix;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.LeaderKills;
import io.cairn.system.support.MountScript;
import java.io.IOException;
import java.util.function.Consumer;
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

    private final long seed = TestSeed.of("DelegatedMountsTest");

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void nobodySeesWhatWasBefore(int mounts) throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "1", "--data", "1").up()) {
            run(cluster, mounts, SECONDS, "steady", MountScript::run);
        }
    }

    @Test
    void norWhileLeadersAreKilled() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "1").up()) {
            LeaderKills kills = new LeaderKills(cluster);
            run(cluster, 3, 2 * SECONDS, "killed", script -> kills.during(script::run));
        }
    }

    private void run(
            Cluster cluster, int mounts, int seconds, String course, Consumer<MountScript> how) {
        String[] arguments = {Long.toString(seed), Integer.toString(seconds), course};
        try (MountScript script =
                new MountScript(cluster, "delegated.py", "delegated", mounts, arguments)) {
            how.accept(script);
        }
    }
}
