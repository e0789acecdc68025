package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Method;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcAddress;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What data servers say of their scrubs, in the status of the cluster; and 'noscrub'. */
class ScrubWarningsTest {
    @TempDir Path directory;

    @Test
    void whatScrubsFoundIsAWarning() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer server = new FakeDataServer(group)) {
            server.register();
            long epoch = group.status().getMap().getEpoch();
            ScrubReport clean =
                    ScrubReport.newBuilder().setGroups(3).setOldestDeepSeconds(77).build();
            server.heartbeat(epoch, clean);
            assertThat(group.status().getWarningsList()).noneMatch(w -> w.contains("scrub"));
            ServerStatus status = group.status().getServers(0);
            assertThat(status.getScrub()).isEqualTo(clean);

            server.heartbeat(
                    epoch,
                    ScrubReport.newBuilder()
                            .setQuarantined(1)
                            .addQuarantinedTexts("disk 1: block 7")
                            .setDifferences(5)
                            .addDifferenceTexts("one")
                            .addDifferenceTexts("two")
                            .build());
            String where =
                    "data server %d (%s): "
                            .formatted(server.id, RpcAddress.format(server.rpc.localAddress()));
            assertThat(group.status().getWarningsList())
                    .contains(
                            where
                                    + "1 damaged block is in quarantine, as no replica has the content; reads there fail until it is overwritten (disk 1: block 7)",
                            where
                                    + "scrubs found 5 differences between replicas (one; two; and others): what one lacks is copied to it, all else is left as it is, see docs/troubleshooting.md");
        }
    }

    @Test
    void dataServersAreToldToHoldScrubsBack() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer server = new FakeDataServer(group)) {
            server.register();
            long epoch = group.status().getMap().getEpoch();
            assertThat(server.heartbeat(epoch).getNoScrub()).isFalse();
            set(group, "on");
            assertThat(server.heartbeat(epoch).getNoScrub()).isTrue();
            set(group, "off");
            assertThat(server.heartbeat(epoch).getNoScrub()).isFalse();
        }
    }

    private static void set(TestGroup group, String value) throws Exception {
        var _ =
                group.call(
                                Method.SETTINGS,
                                SettingsRequest.newBuilder()
                                        .setName("noscrub")
                                        .setValue(value)
                                        .build(),
                                SettingsReply.parser())
                        .get();
    }
}
