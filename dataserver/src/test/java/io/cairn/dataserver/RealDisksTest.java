package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.CallTotal;
import io.cairn.common.proto.DiskStatus;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three data servers on real disks: what was acknowledged is there after all restarted. */
class RealDisksTest {
    private static final long SESSION = 77;

    /** By which the metadata service compares the disk with others. */
    @Test
    void theMetadataServiceIsToldHowLongCallsTake(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            byte[] data = new byte[100_000];
            int pg = TestCluster.pg(0);
            cluster.sendUntilFinal(cluster.write(pg, SESSION, 1, 0, data), data);
            await().atMost(TestCluster.PATIENCE)
                    .untilAsserted(() -> {
                        Path file = cluster.stateDir(0).resolve("data");
                        DiskStatus status = Objects.requireNonNull(cluster.mds.reported(1, file));
                        for (CallTotal total :
                                List.of(
                                        status.getWrites(),
                                        status.getSyncs(),
                                        status.getLogWrites(),
                                        status.getLogSyncs())) {
                            assertThat(total.getCalls()).isPositive();
                            assertThat(total.getMicros()).isPositive();
                        }
                    });
        }
    }

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
