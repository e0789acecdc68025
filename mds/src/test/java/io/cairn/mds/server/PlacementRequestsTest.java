package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
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
import io.cairn.common.proto.RemoveReply;
import io.cairn.common.proto.RemoveRequest;
import io.cairn.common.proto.ReweightReply;
import io.cairn.common.proto.ReweightRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.proto.StatusReply;
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
        return answer(group, name, value).get();
    }

    private static TestGroup.Answer<SettingsReply> answer(
            TestGroup group, String name, String value) {
        return group.call(
                Method.SETTINGS,
                SettingsRequest.newBuilder().setName(name).setValue(value).build(),
                SettingsReply.parser());
    }

    @Test
    void aDrainIsRefusedWhereAPoolHasNoPlaceAndDoneWhereItHas() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
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

    private static TestGroup.Answer<RemoveReply> remove(TestGroup group, FakeDataServer server) {
        return group.call(
                Method.REMOVE,
                RemoveRequest.newBuilder().addServers(server.id).build(),
                RemoveReply.parser());
    }

    @Test
    void aRemovedDiskIsRefusedForGoodAndItsServerGetsItsIdBack() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3);
                FakeDataServer fourth = new FakeDataServer(group);
                FakeDataServer fifth = new FakeDataServer(group)) {
            three.registered(PGS);
            fourth.register();
            int server = fourth.id;
            int disk = fourth.disk;
            assertThat(remove(group, fourth).status().detail())
                    .isEqualTo(
                            "data server %d is up: stop it first; disk %d is in placement: drain it first"
                                    .formatted(server, disk));
            drain(group, DrainRequest.newBuilder().addServers(server)).get();
            group.advance(1, Duration.ofMinutes(1).toNanos());
            await("it is down").atMost(PATIENCE).until(() -> remove(group, fourth).status().ok());
            StatusReply status = group.status();
            assertThat(status.getMap().getDisksList()).extracting(Disk::getId).doesNotContain(disk);
            assertThat(status.getServersList())
                    .extracting(ServerStatus::getServer)
                    .doesNotContain(server);
            assertThat(remove(group, fourth).status().errno()).isEqualTo(Errno.ENOENT);

            group.stop(1);
            group.start(1);
            group.awaitServing();
            fifth.register();
            assertThat(fifth.disk).as("no id is used again").isGreaterThan(disk);
            assertThat(fifth.id).isGreaterThan(server);
            assertThat(fourth.restart().getDisks(0)).as("refused").isZero();
            assertThat(fourth.id).isEqualTo(server);
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void theWeightOfADiskIsItsPartOfTheShare() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3);
                FakeDataServer fourth = new FakeDataServer(group)) {
            three.servers().forEach(s -> s.recovers = true);
            fourth.recovers = true;
            three.registered(PGS);
            fourth.register();
            ReweightRequest half =
                    ReweightRequest.newBuilder()
                            .addDisks(fourth.disk)
                            .setWeightPermille(500)
                            .build();
            assertThat(
                            group.call(Method.REWEIGHT, half, ReweightReply.parser())
                                    .get()
                                    .getDisks(0)
                                    .getChanged())
                    .isTrue();
            BalancePlanReply plan =
                    group.call(
                                    Method.BALANCE_PLAN,
                                    BalancePlanRequest.getDefaultInstance(),
                                    BalancePlanReply.parser())
                            .get();
            assertThat(plan.getDisks(3).getReplicasThen()).isBetween(6, 7);
            fourth.restart();
            assertThat(group.status().getMap().getDisks(3).getWeightPermille())
                    .as("kept")
                    .isEqualTo(500);
        }
    }

    @Test
    void whatCanBeStoppedIsWhatWritesDoNotNeed() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
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
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            group.awaitServing();
            List<Setting> before = set(group, "", "").getSettingsList();
            assertThat(before)
                    .extracting(Setting::getName)
                    .containsExactly(
                            "reaper.rate",
                            "noout",
                            "norebalance",
                            "nodown",
                            "norecover",
                            "pause",
                            "moves.per_disk",
                            "recovery.max_rate",
                            "recovery.max_operations",
                            "noscrub",
                            "orphans.age",
                            "orphans.remove",
                            "orphans.max_share",
                            "space.near_full",
                            "space.full");
            assertThat(before.get(1).getValue()).isEqualTo("off");
            assertThat(before.get(1).getBuiltIn()).isTrue();
            assertThat(set(group, "noout", "on").getSettings(1).getValue()).isEqualTo("on");
            assertThat(set(group, "norebalance", "on").getSettings(2).getSet()).isTrue();
            assertThat(set(group, "noscrub", "on").getSettings(9).getValue()).isEqualTo("on");
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
            RpcStatus refused = answer(group, "noout", "yes").status();
            assertThat(refused.errno()).isEqualTo(Errno.EINVAL);
            assertThat(refused.detail()).isEqualTo("noout is on or off");
        }
    }

    private static void refuses(TestGroup group, String name, String... values) {
        for (String value : values) {
            RpcStatus refused = answer(group, name, value).status();
            assertThat(refused.errno()).as(name + " " + value).isEqualTo(Errno.EINVAL);
        }
    }

    private static int moves(TestGroup group, String number) {
        set(group, "moves.per_disk", number);
        return Integer.parseInt(set(group, "", "").getSettings(6).getValue());
    }

    @Test
    void whatIsHeldBackReachesDataServersWithTheirNextHeartbeat() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.servers().forEach(s -> s.recovers = true);
            FakeDataServer first = three.registered(PGS).getFirst();
            assertThat(first.heartbeat(1).getClientsPaused()).isFalse();
            set(group, "pause", "on");
            set(group, "norecover", "on");
            assertThat(first.heartbeat(1).getClientsPaused()).isTrue();
            assertThat(first.heartbeat(1).getRecoveryPaused()).isTrue();
            assertThat(group.status().getWarningsList())
                    .anyMatch(w -> w.startsWith("pause is on"))
                    .anyMatch(w -> w.startsWith("norecover is on"));
            set(group, "pause", "off");
            assertThat(first.heartbeat(1).getClientsPaused()).isFalse();

            assertThat(first.heartbeat(1).getRecoveryBytesPerSecond()).isZero();
            set(group, "recovery.max_rate", "24MiB");
            set(group, "recovery.max_operations", "50");
            assertThat(first.heartbeat(1).getRecoveryBytesPerSecond()).isEqualTo(24 << 20);
            assertThat(first.heartbeat(1).getRecoveryOperationsPerSecond()).isEqualTo(50);
            assertThat(set(group, "", "").getSettings(7).getValue()).isEqualTo("24MiB");
            assertThat(set(group, "recovery.max_rate", "none").getSettings(7).getValue())
                    .isEqualTo("none");
            assertThat(first.heartbeat(1).getRecoveryBytesPerSecond()).isZero();

            set(group, "nodown", "on");
            group.advance(1, Duration.ofMinutes(2).toNanos());
            assertThat(first.heartbeat(1).getRegisterAgain()).isFalse();
            assertThat(group.status().getMap().getServersList()).allMatch(Server::getUp);
            set(group, "nodown", "off");
            await("who is silent is down")
                    .atMost(PATIENCE)
                    .until(() ->
                            group.status().getMap().getServersList().stream()
                                            .filter(Server::getUp)
                                            .count()
                                    == 1);

            assertThat(moves(group, "64")).isEqualTo(64);
            refuses(group, "moves.per_disk", "0", "65", "-1", "many");
            refuses(group, "recovery.max_rate", "0", "63KiB", "2TiB", "fast", "");
            refuses(group, "recovery.max_operations", "1000001", "-1", "none", "");
        }
    }
}
