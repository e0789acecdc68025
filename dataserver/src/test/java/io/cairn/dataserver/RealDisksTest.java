package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three data servers on real disks: what was acknowledged is there after all restarted. */
class RealDisksTest {
    private static final long SESSION = 77;

    @Test
    void acknowledgedDataOutlivesARestartOfAll(@TempDir Path directory) throws Exception {
        byte[] data = new byte[100_000];
        new Random(1).nextBytes(data);
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            for (int i = 0; i < FakeMds.PGS; i++) {
                int pg = TestCluster.pg(i);
                assertThat(
                                cluster.sendUntilFinal(
                                                cluster.write(pg, SESSION, i + 1, 1234, data), data)
                                        .status()
                                        .ok())
                        .isTrue();
            }
            for (int i = 0; i < TestCluster.SERVERS; i++) {
                cluster.kill(i);
            }
            for (int i = 0; i < TestCluster.SERVERS; i++) {
                cluster.start(i);
            }
            for (int i = 0; i < FakeMds.PGS; i++) {
                int pg = TestCluster.pg(i);
                assertThat(
                                cluster.sendUntilFinal(
                                                cluster.read(pg, SESSION, 1234, data.length),
                                                new byte[0])
                                        .data())
                        .isEqualTo(data);
            }
        }
    }
}
