package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.BalancePlanRequest;
import io.cairn.common.proto.CanStopReply;
import io.cairn.common.proto.CanStopRequest;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DrainReply;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcStatus;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an administrator asks of placement, and what the status says of it. */
final class PlacementRequestsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int PGS = 16;
    private static final String SETTINGS =
            """
            [data_servers]
            lease = "30s"
            bootstrap_disks = 3
            [pool]
            pg_count = 16
            [raft]
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            """;

    @TempDir Path directory;

    private static TestGroup.Answer<DrainReply> drain(TestGroup group, DrainRequest.Builder what) {
        return group.call(Method.DRAIN, what.build(), DrainReply.parser());
    }

    private static DrainRequest.Builder disk(int id) {
        return DrainRequest.newBuilder().addDisks(id);
    }

    private static boolean isOut(TestGroup group, int disk) {
        return group.status().getMap().getDisksList().stream()
                .filter(d -> d.getId() == disk)
                .allMatch(Disk::getOut);
    }

    private static SettingsReply set(TestGroup group, String name, String value) {
        return group.call(
                        Method.SETTINGS,
                        SettingsRequest.newBuilder().setName(name).setValue(value).build(),
                        SettingsReply.parser())
                .get();
    }

    @Test
    void aDrainIsRefusedWhereAPoolHasNoPlaceAndDoneWhereItHas() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS);
                FakeDataServers three = new FakeDataServers(group, 3);
                FakeDataServer fourth = new FakeDataServer(group)) {
            three.servers().forEach(s -> s.recovers = true);
            fourth.recovers = true;
            FakeDataServer first = three.registered(PGS).getFirst();
            long epoch = group.status().getMap().getEpoch();
            RpcStatus refused = drain(group, disk(first.disk)).status();
            assertThat(refused.errno()).isEqualTo(Errno.ENOSPC);
            assertThat(refused.detail()).contains("and 2 would be left: add a data server");
            refused = drain(group, disk(first.disk).addDisks(77)).status();
            assertThat(refused.errno()).isEqualTo(Errno.ENOENT);
            assertThat(refused.detail()).isEqualTo("there is no disk 77");
            assertThat(group.status().getMap().getEpoch()).isEqualTo(epoch);

            fourth.register();
            List<DrainedDisk> drained =
                    drain(group, DrainRequest.newBuilder().addServers(first.id))
                            .get()
                            .getDisksList();
            assertThat(drained).hasSize(1);
            assertThat(drained.getFirst().getDisk()).isEqualTo(first.disk);
            assertThat(drained.getFirst().getChanged()).isTrue();
            assertThat(drained.getFirst().getReplicas()).isEqualTo(PGS);
            assertThat(isOut(group, first.disk)).isTrue();
            assertThat(group.status().getNotesList())
                    .contains(
                            "disk %d of data server %d is being drained: it has 16 placement groups yet"
                                    .formatted(first.disk, first.id));
            assertThat(drain(group, disk(first.disk)).get().getDisks(0).getChanged()).isFalse();

            BalancePlanReply plan =
                    group.call(
                                    Method.BALANCE_PLAN,
                                    BalancePlanRequest.getDefaultInstance(),
                                    BalancePlanReply.parser())
                            .get();
            assertThat(plan.getDisksList()).hasSize(4);
            assertThat(plan.getDisksList())
                    .filteredOn(d -> d.getDisk() == first.disk)
                    .allMatch(d -> !d.getPlaceable() && d.getReplicasThen() == 0);
            assertThat(plan.getHoldsList()).isEmpty();

            DrainRequest.Builder back = disk(first.disk).setRestore(true);
            assertThat(drain(group, back).get().getDisks(0).getChanged()).isTrue();
            assertThat(isOut(group, first.disk)).isFalse();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void whatCanBeStoppedIsWhatWritesDoNotNeed() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> all = three.registered(PGS);
            await("all are heard of")
                    .atMost(PATIENCE)
                    .until(() -> canStop(group, all, all.getFirst().id).getStopping() == 0);
            CanStopReply two = canStop(group, all, all.getFirst().id, all.getLast().id);
            assertThat(two.getStopping()).isEqualTo(PGS);
            assertThat(two.getStepsList()).isNotEmpty();
            RpcStatus unknown =
                    group.call(
                                    Method.CAN_STOP,
                                    CanStopRequest.newBuilder().addServers(9).build(),
                                    CanStopReply.parser())
                            .status();
            assertThat(unknown.errno()).isEqualTo(Errno.ENOENT);
        }
    }

    private static CanStopReply canStop(
            TestGroup group, List<FakeDataServer> heard, Integer... servers) {
        long epoch = group.status().getMap().getEpoch();
        heard.forEach(s -> s.heartbeat(epoch));
        return group.call(
                        Method.CAN_STOP,
                        CanStopRequest.newBuilder().addAllServers(List.of(servers)).build(),
                        CanStopReply.parser())
                .get();
    }

    @Test
    void whatIsHeldBackIsAWarningAndOutlivesARestart() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            List<Setting> before = set(group, "", "").getSettingsList();
            assertThat(before)
                    .extracting(Setting::getName)
                    .containsExactly("reaper.rate", "noout", "norebalance", "noscrub");
            assertThat(before.get(1).getValue()).isEqualTo("off");
            assertThat(before.get(1).getBuiltIn()).isTrue();
            assertThat(set(group, "noout", "on").getSettings(1).getValue()).isEqualTo("on");
            assertThat(set(group, "norebalance", "on").getSettings(2).getSet()).isTrue();
            assertThat(set(group, "noscrub", "on").getSettings(3).getValue()).isEqualTo("on");
            group.stop(1);
            group.start(1);
            group.awaitServing();
            assertThat(group.status().getWarningsList())
                    .anyMatch(w -> w.startsWith("noout is on"))
                    .anyMatch(w -> w.startsWith("norebalance is on"))
                    .anyMatch(w -> w.startsWith("noscrub is on"));
            assertThat(set(group, "noout", "off").getSettings(1).getValue()).isEqualTo("off");
            assertThat(group.status().getWarningsList())
                    .noneMatch(w -> w.startsWith("noout is on"))
                    .anyMatch(w -> w.startsWith("norebalance is on"));
            RpcStatus refused =
                    group.call(
                                    Method.SETTINGS,
                                    SettingsRequest.newBuilder()
                                            .setName("noout")
                                            .setValue("yes")
                                            .build(),
                                    SettingsReply.parser())
                            .status();
            assertThat(refused.errno()).isEqualTo(Errno.EINVAL);
            assertThat(refused.detail()).isEqualTo("noout is on or off");
        }
    }
}
