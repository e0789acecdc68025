package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.CanStopReply;
import io.cairn.common.proto.CanStopRequest;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskPlan;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.DrainReply;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.PlannedMove;
import io.cairn.common.proto.RemoveReply;
import io.cairn.common.proto.RemoveRequest;
import io.cairn.common.proto.ReweightReply;
import io.cairn.common.proto.ReweightRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code cairn disk}, {@code server} and {@code balance}, against a leader that is scripted. */
final class PlacementCommandsTest {
    private final Map<Method, MessageLite> answers = new ConcurrentHashMap<>();
    private final List<MessageLite> asked = new CopyOnWriteArrayList<>();
    private final ScriptedServer server = new ScriptedServer(this::answer);
    private volatile RpcStatus refusal = RpcStatus.OK;

    PlacementCommandsTest() throws IOException {}

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        Method method = Method.forNumber(request.method());
        switch (method) {
            case DRAIN -> asked.add(Heads.parse(DrainRequest.parser(), request.head()));
            case REMOVE -> asked.add(Heads.parse(RemoveRequest.parser(), request.head()));
            case REWEIGHT -> asked.add(Heads.parse(ReweightRequest.parser(), request.head()));
            case CAN_STOP -> asked.add(Heads.parse(CanStopRequest.parser(), request.head()));
            case null, default -> {}
        }
        MessageLite reply = method == null ? null : answers.get(method);
        if (refusal.ok() && reply != null) {
            request.reply(reply);
        } else {
            request.fail(refusal.ok() ? RpcStatus.fail(Errno.EOPNOTSUPP, "no method") : refusal);
        }
    }

    private int run(String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--mds", server.address()));
        return server.run(all.toArray(String[]::new));
    }

    private List<String> lines() {
        List<String> lines = server.out.toString().lines().toList();
        server.out.getBuffer().setLength(0);
        return lines;
    }

    private JsonNode json() {
        return JsonMapper.shared().readTree(String.join("\n", lines()));
    }

    // ---- lists ----------------------------------------------------------------------------------

    private static Server.Builder dataServer(int id) {
        return Server.newBuilder()
                .setId(id)
                .setAddress("data" + id + ":7100")
                .setHost("data" + id)
                .setUp(true);
    }

    private static Disk.Builder disk(int id, int server) {
        return Disk.newBuilder().setId(id).setServer(server).setCapacityBytes(1 << 30);
    }

    private static DiskStatus.Builder reported(int disk) {
        return DiskStatus.newBuilder().setDisk(disk).setData("/disk/" + disk).setUsedBytes(1 << 20);
    }

    /** One disk in each state; the placement group moves from disk 5 to disk 2. */
    private static StatusReply everyState() {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .addServers(dataServer(1).setRack("r1"))
                        .addServers(dataServer(2).setUp(false))
                        .addServers(dataServer(3))
                        .addServers(dataServer(4).setUp(false))
                        .addDisks(disk(1, 1))
                        .addDisks(disk(2, 1))
                        .addDisks(disk(3, 1))
                        .addDisks(disk(4, 2))
                        .addDisks(disk(5, 1).setOut(true))
                        .addDisks(disk(6, 4).setOut(true))
                        .addDisks(disk(7, 2).setAbsent(true))
                        .addDisks(disk(8, 3).setWeightPermille(50))
                        .addPgs(
                                PlacementGroup.newBuilder()
                                        .setPg(1 << 16)
                                        .addAllReplicas(List.of(1, 2))
                                        .addAllInSync(List.of(1, 5)));
        return StatusReply.newBuilder()
                .setMap(map)
                .addServers(
                        ServerStatus.newBuilder()
                                .setServer(1)
                                .setRelease("0.1.0")
                                .addDisks(reported(1))
                                .addDisks(
                                        reported(2)
                                                .setCondition(DiskCondition.DISK_OUT)
                                                .setCause("Input/output error")
                                                .setNextStep("check it"))
                                .addDisks(reported(5)))
                .build();
    }

    @Test
    void disksAreListedWithTheirStates() {
        answers.put(Method.STATUS, everyState());
        assertThat(run("disk", "ls")).isZero();
        List<String> lines = lines();
        assertThat(lines.getFirst())
                .isEqualTo(
                        "DISK   SERVER  HOST/RACK          CLASS STATE             CAPACITY       USED WEIGHT REPLICAS  IN SYNC PRIMARIES  DATA");
        assertThat(lines.get(1))
                .isEqualTo(
                        "1      1       data1/r1           -     serving           1.00 GiB   1.00 MiB      1        1        1         1  /disk/1");
        assertThat(lines.stream().map(String::strip))
                .contains(
                        "Input/output error; check it",
                        "data server 1 does not serve it",
                        "data server 2 is down",
                        "no placement group has it: it can be removed",
                        "the leader has not heard of data server 3 yet");
        assertThat(run("disk", "ls", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.valueStream().map(d -> d.get("state").stringValue()))
                .containsExactly(
                        "serving",
                        "out_of_service",
                        "out_of_service",
                        "away",
                        "draining",
                        "drained",
                        "absent",
                        "unknown");
        assertThat(json.at("/4/in_sync").asInt()).isEqualTo(1);
        assertThat(json.at("/4/replicas").asInt()).isZero();
        assertThat(json.at("/5/can_be_removed").asBoolean()).isTrue();
        assertThat(json.at("/1/cause").stringValue()).isEqualTo("Input/output error; check it");
        assertThat(json.at("/0/used_bytes").asLong()).isEqualTo(1 << 20);
        assertThat(json.at("/0/weight").asDouble()).isEqualTo(1);
        assertThat(json.at("/7/weight").asDouble()).isEqualTo(0.05);
    }

    @Test
    void aSlowDiskIsListedWithWhatToDo() {
        answers.put(
                Method.STATUS,
                StatusReply.newBuilder()
                        .setMap(
                                MapUpdate.newBuilder()
                                        .addServers(dataServer(1))
                                        .addDisks(disk(1, 1).setSlow(true)))
                        .addServers(
                                ServerStatus.newBuilder()
                                        .setServer(1)
                                        .addDisks(
                                                reported(1)
                                                        .setCause("its reads take 80.0 ms")
                                                        .setNextStep("check it")))
                        .build());
        assertThat(run("disk", "ls")).isZero();
        assertThat(lines().stream().map(String::strip))
                .contains("its reads take 80.0 ms; check it");
        assertThat(run("disk", "ls", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/0/state").stringValue()).isEqualTo("slow");
        assertThat(json.at("/0/cause").stringValue()).isEqualTo("its reads take 80.0 ms; check it");
    }

    @Test
    void serversAreListedWithWhatTheirDisksHave() {
        answers.put(Method.STATUS, everyState());
        assertThat(run("server", "ls")).isZero();
        assertThat(lines())
                .containsExactly(
                        "SERVER  ADDRESS                HOST/RACK          STATE          RELEASE       DISKS REPLICAS  IN SYNC PRIMARIES",
                        "1       data1:7100             data1/r1           up             0.1.0             4        2        2         1",
                        "2       data2:7100             data2              DOWN           not known         2        0        0         0",
                        "3       data3:7100             data3              up             not known         1        0        0         0",
                        "4       data4:7100             data4              DOWN, drained  not known         1        0        0         0");
        assertThat(run("server", "ls", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/0/rack").stringValue()).isEqualTo("r1");
        assertThat(json.at("/3/drained").asBoolean()).isTrue();
        assertThat(json.at("/3/up").asBoolean()).isFalse();
    }

    /** Its only disk is drained: it may be gone for good. */
    @Test
    void aDrainedServerThatIsDownIsNoWarning() {
        answers.put(Method.STATUS, everyState());
        assertThat(run("status")).isEqualTo(6);
        List<String> lines = lines();
        assertThat(lines)
                .anyMatch(l -> l.startsWith("warning:  data server 2 "))
                .noneMatch(l -> l.startsWith("warning:  data server 4 "))
                .anyMatch(l -> l.contains("disk 6  drained  "))
                .anyMatch(l -> l.contains("disk 2  OUT  "))
                .contains("moving    1 placement groups, 0 replicas still to be copied");
    }

    // ---- draining -------------------------------------------------------------------------------

    private static DrainedDisk.Builder drained(int disk, boolean changed, int replicas) {
        return DrainedDisk.newBuilder().setDisk(disk).setChanged(changed).setReplicas(replicas);
    }

    @Test
    void disksAndServersAreDrainedAndRestored() {
        answers.put(
                Method.DRAIN,
                DrainReply.newBuilder()
                        .addDisks(drained(3, true, 40))
                        .addDisks(drained(4, false, 2))
                        .addDisks(drained(5, true, 0))
                        .build());
        assertThat(run("disk", "drain", "3", "4", "5", "3")).isZero();
        assertThat(asked)
                .containsExactly(DrainRequest.newBuilder().addAllDisks(List.of(3, 4, 5)).build());
        assertThat(lines())
                .containsExactly(
                        "disk 3 is being drained: 40 placement groups move off it; 'cairn disk ls' says when it can be removed",
                        "disk 4 was already being drained: 2 placement groups move off it; 'cairn disk ls' says when it can be removed",
                        "disk 5 is drained: no placement group has it, it can be removed");
        assertThat(run("server", "restore", "2")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(DrainRequest.newBuilder().addServers(2).setRestore(true).build());
        assertThat(lines())
                .contains(
                        "disk 3 is given placement groups again",
                        "disk 4 was not drained: it is left as it is");
        assertThat(run("server", "drain", "2", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/0/pgs").asInt()).isEqualTo(40);
        assertThat(json.at("/2/can_be_removed").asBoolean()).isTrue();
        assertThat(run("disk", "restore", "3", "--json")).isZero();
        assertThat(json().at("/2/can_be_removed").asBoolean()).isFalse();
    }

    @Test
    void whatHasNoRoomIsDrainedByForce() {
        answers.put(Method.DRAIN, DrainReply.getDefaultInstance());
        assertThat(run("disk", "drain", "3", "--force")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(DrainRequest.newBuilder().addDisks(3).setForce(true).build());
    }

    @Test
    void disksAndServersGetWeights() {
        answers.put(
                Method.REWEIGHT,
                ReweightReply.newBuilder()
                        .addDisks(drained(3, true, 40))
                        .addDisks(drained(4, false, 2))
                        .build());
        assertThat(run("server", "reweight", "2", "0.05")).isZero();
        assertThat(asked)
                .containsExactly(
                        ReweightRequest.newBuilder().addServers(2).setWeightPermille(50).build());
        assertThat(lines())
                .containsExactly(
                        "disk 3 has weight 0.05: 'cairn balance --plan' says what moves",
                        "disk 4 had weight 0.05 already");
        assertThat(run("disk", "reweight", "3", "100", "--json")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(
                        ReweightRequest.newBuilder()
                                .addDisks(3)
                                .setWeightPermille(100_000)
                                .build());
        assertThat(json().at("/1/changed").asBoolean()).isFalse();
        for (String wrong : List.of("100.001", "1.2345", ".5", "half", "-1")) {
            assertThat(run("disk", "reweight", "3", wrong)).as(wrong).isEqualTo(2);
        }
        assertThat(asked).hasSize(2);
    }

    @Test
    void whatIsRemovedIsNamed() {
        answers.put(Method.REMOVE, RemoveReply.newBuilder().addServers(2).addDisks(3).build());
        assertThat(run("server", "remove", "2")).isZero();
        assertThat(asked).containsExactly(RemoveRequest.newBuilder().addServers(2).build());
        assertThat(lines()).containsExactly("data server 2 is removed", "disk 3 is removed");
        assertThat(run("disk", "remove", "3", "--json")).isZero();
        assertThat(asked.getLast()).isEqualTo(RemoveRequest.newBuilder().addDisks(3).build());
        assertThat(json().at("/disks/0").asInt()).isEqualTo(3);
        refusal = RpcStatus.fail(Errno.EBUSY, "disk 3 is in placement: drain it first");
        assertThat(run("disk", "remove", "3")).isEqualTo(1);
        assertThat(server.err.toString().strip())
                .isEqualTo("cairn: disk 3 is in placement: drain it first; nothing was changed");
    }

    @Test
    void refusalsAreOneLineAndItsExitCode() {
        refusal = RpcStatus.fail(Errno.ENOENT, "there is no disk 7");
        assertThat(run("disk", "drain", "7")).isEqualTo(1);
        refusal = RpcStatus.fail(Errno.ENOSPC, "pool data …: add a disk first");
        assertThat(run("server", "drain", "1")).isEqualTo(1);
        refusal = RpcStatus.fail(Errno.EOPNOTSUPP, "a metadata server has no method 100");
        assertThat(run("server", "can-stop", "1")).isEqualTo(1);
        assertThat(run("balance", "--plan")).isEqualTo(1);
        assertThat(server.err.toString().lines())
                .containsExactly(
                        "cairn: there is no disk 7; nothing was changed, see: cairn disk ls, cairn server ls",
                        "cairn: pool data …: add a disk first; nothing was changed",
                        "cairn: the leader of the metadata service is of a release without this command: upgrade it first",
                        "cairn: the leader of the metadata service is of a release without this command: upgrade it first");
        assertThat(server.out.toString()).isEmpty();
    }

    @Test
    void badCommandLinesAreRefusedHere() {
        assertThat(server.run("disk")).isEqualTo(2);
        assertThat(run("disk", "drain")).isEqualTo(2);
        assertThat(run("disk", "drain", "data-1")).isEqualTo(2);
        assertThat(run("balance")).isEqualTo(2);
        assertThat(asked).isEmpty();
        assertThat(server.err.toString())
                .contains("ls or add or drain or restore or can-stop", "--plan");
    }

    // ---- stopping -------------------------------------------------------------------------------

    @Test
    void theExitCodeSaysWhetherServersCanStop() {
        answers.put(Method.CAN_STOP, CanStopReply.newBuilder().setAllGroups(128).build());
        assertThat(run("server", "can-stop", "1", "2")).isZero();
        assertThat(asked)
                .containsExactly(CanStopRequest.newBuilder().addServers(1).addServers(2).build());
        assertThat(lines())
                .containsExactly(
                        "yes: all 128 placement groups take writes without data server 1, 2");
        answers.put(
                Method.CAN_STOP,
                CanStopReply.newBuilder()
                        .setAllGroups(128)
                        .setStopping(12)
                        .setStopped(3)
                        .addSteps("data server 4 (h:4) is down: start it")
                        .build());
        assertThat(run("disk", "can-stop", "5")).isEqualTo(1);
        assertThat(asked.getLast()).isEqualTo(CanStopRequest.newBuilder().addDisks(5).build());
        assertThat(lines())
                .containsExactly(
                        "no: 12 of 128 placement groups would take no writes without disk 5, 3 of them take none now",
                        "    data server 4 (h:4) is down: start it");
        assertThat(run("disk", "can-stop", "5", "--json")).isEqualTo(1);
        JsonNode json = json();
        assertThat(json.at("/can_stop").asBoolean()).isFalse();
        assertThat(json.at("/stopping").asInt()).isEqualTo(12);
        assertThat(json.at("/wait_for/0").stringValue()).contains("start it");
        assertThat(server.err.toString()).isEmpty();
    }

    // ---- the plan -------------------------------------------------------------------------------

    private static DiskPlan.Builder plan(int disk, int now, int then, double share) {
        return DiskPlan.newBuilder()
                .setDisk(disk)
                .setPlaceable(share > 0)
                .setReplicasNow(now)
                .setReplicasThen(then)
                .setShare(share);
    }

    @Test
    void thePlanShowsWhatMovesAndTheSpread() {
        answers.put(
                Method.BALANCE_PLAN,
                BalancePlanReply.newBuilder()
                        .setGroups(30)
                        .setReplicas(32)
                        .setBytes(3L << 30)
                        .setPrimaries(2)
                        .addDisks(plan(1, 60, 48, 48))
                        .addDisks(plan(2, 0, 48, 48))
                        .addDisks(plan(3, 36, 0, 0))
                        .addHolds("norebalance is on")
                        .build());
        assertThat(run("balance", "--plan")).isZero();
        assertThat(lines())
                .containsExactly(
                        "moves     30 placement groups, 32 replicas to copy, about 3.00 GiB; 2 only get another primary",
                        "held      norebalance is on",
                        "now       0 to 60 replicas per disk, 0 % to 125 % of its share by capacity",
                        "then      48 to 48 replicas per disk, 100 % to 100 % of its share by capacity",
                        "DISK         NOW      THEN     SHARE",
                        "1             60        48      48.0",
                        "2              0        48      48.0",
                        "3             36         0      none");
        assertThat(run("balance", "--plan", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/replicas").asInt()).isEqualTo(32);
        assertThat(json.at("/now/most_of_share").asDouble()).isEqualTo(1.25);
        assertThat(json.at("/then/least").asInt()).isEqualTo(48);
        assertThat(json.at("/disks/2/placeable").asBoolean()).isFalse();
        answers.put(Method.BALANCE_PLAN, BalancePlanReply.getDefaultInstance());
        assertThat(run("balance", "--plan")).isZero();
        assertThat(lines().getFirst()).isEqualTo("moves     nothing");
    }

    private static PlannedMove move(int pg, int from, int to, long bytes) {
        return PlannedMove.newBuilder().setPg(pg).setFrom(from).setTo(to).setBytes(bytes).build();
    }

    @Test
    void thePlanNamesMoves() {
        BalancePlanReply.Builder plan =
                BalancePlanReply.newBuilder()
                        .setGroups(2)
                        .setReplicas(2)
                        .addMoves(move(0x10003, 2, 5, 3L << 29))
                        .addMoves(move(0x1000a, 0, 7, 0))
                        .setAllMoves(2);
        answers.put(Method.BALANCE_PLAN, plan.build());
        assertThat(run("balance", "--plan")).isZero();
        assertThat(lines()).as("not unless it is asked").noneMatch(l -> l.startsWith("10003"));
        assertThat(run("balance", "--plan", "--moves")).isZero();
        assertThat(lines())
                .endsWith(
                        "DISK         NOW      THEN     SHARE",
                        "PG          FROM     TO       BYTES",
                        "10003          2      5    1.50 GiB",
                        "1000a          -      7         0 B");
        assertThat(run("balance", "--plan", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/moves_total").asInt()).isEqualTo(2);
        assertThat(json.at("/moves/0/pg").stringValue()).isEqualTo("10003");
        assertThat(json.at("/moves/0/from").asInt()).isEqualTo(2);
        assertThat(json.at("/moves/0/to").asInt()).isEqualTo(5);
        assertThat(json.at("/moves/0/bytes").asLong()).isEqualTo(3L << 29);
        assertThat(json.at("/moves/1/from").isMissingNode()).isTrue();
        answers.put(Method.BALANCE_PLAN, plan.setAllMoves(12_345).build());
        assertThat(run("balance", "--plan", "--moves")).isZero();
        assertThat(lines().getLast()).isEqualTo("these are the first 2 of 12,345 moves");
    }

    @Test
    void aLeaderOfAnOlderReleaseNamesNoMoves() {
        answers.put(Method.BALANCE_PLAN, BalancePlanReply.newBuilder().setGroups(2).build());
        assertThat(run("balance", "--plan", "--moves")).isZero();
        assertThat(lines().getLast()).contains("does not name moves: upgrade it");
        assertThat(run("balance", "--plan", "--json")).isZero();
        JsonNode json = json();
        assertThat(json.at("/moves").isEmpty()).isTrue();
        assertThat(json.at("/moves_total").isMissingNode()).isTrue();
    }
}
