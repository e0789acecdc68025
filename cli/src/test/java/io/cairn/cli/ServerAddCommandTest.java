package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code cairn server add}, against a leader whose statuses are scripted; the last one stays. */
class ServerAddCommandTest {
    private static final String NEW = "data4:7100";

    private final Queue<StatusReply> statuses = new ConcurrentLinkedQueue<>();
    private final ScriptedServer server;

    ServerAddCommandTest() throws IOException {
        server = new ScriptedServer(this::answer);
    }

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        if (Method.forNumber(request.method()) == Method.STATUS) {
            request.reply(statuses.size() > 1 ? statuses.remove() : statuses.element());
        } else {
            request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "no method"));
        }
    }

    private int run(String... args) {
        List<String> all = new ArrayList<>(List.of("server", "add"));
        all.addAll(List.of(args));
        all.addAll(List.of("--mds", server.address()));
        return server.run(all.toArray(String[]::new));
    }

    private static Server.Builder dataServer(int id, boolean up) {
        return Server.newBuilder().setId(id).setAddress("data" + id + ":7100").setUp(up);
    }

    private static Disk.Builder disk(int id, int server) {
        return Disk.newBuilder().setId(id).setServer(server).setCapacityBytes(1 << 30);
    }

    private static StatusReply status(Server.Builder added, DiskStatus.Builder... heard) {
        StatusReply.Builder status =
                StatusReply.newBuilder()
                        .setMap(
                                MapUpdate.newBuilder()
                                        .addServers(dataServer(1, true))
                                        .addDisks(disk(1, 1))
                                        .addServers(added)
                                        .addDisks(disk(8, 4))
                                        .addDisks(disk(9, 4)));
        if (heard.length > 0) {
            ServerStatus.Builder said = ServerStatus.newBuilder().setServer(4);
            List.of(heard).forEach(said::addDisks);
            status.addServers(said);
        }
        return status.build();
    }

    private static DiskStatus.Builder serves(int disk) {
        return DiskStatus.newBuilder().setDisk(disk).setData("/disk/" + disk);
    }

    @Test
    void itWaitsUntilTheLeaderHasHeardOfItsDisks() {
        statuses.add(
                StatusReply.newBuilder()
                        .setMap(MapUpdate.newBuilder().addServers(dataServer(1, true)))
                        .build());
        statuses.add(status(dataServer(4, false)));
        statuses.add(status(dataServer(4, true)));
        statuses.add(status(dataServer(4, true), serves(8), serves(9)));
        assertThat(run(NEW)).isZero();
        assertThat(statuses).hasSize(1);
        List<String> lines = server.out.toString().lines().toList();
        assertThat(lines).hasSize(6);
        assertThat(lines.get(1)).startsWith("4       data4:7100 ");
        assertThat(lines.get(4)).startsWith("8 ").endsWith("/disk/8");
        assertThat(lines.get(5)).startsWith("9 ").endsWith("/disk/9");
    }

    @Test
    void aDiskThatDoesNotServeIsAFailure() {
        DiskStatus.Builder failed =
                serves(9).setCondition(DiskCondition.DISK_OUT).setCause("Input/output error");
        statuses.add(status(dataServer(4, true), serves(8), failed));
        assertThat(run(NEW, "--json")).isEqualTo(1);
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.at("/server/id").asInt()).isEqualTo(4);
        assertThat(json.at("/disks/0/state").stringValue()).isEqualTo("serving");
        assertThat(json.at("/disks/1/state").stringValue()).isEqualTo("out_of_service");
    }

    @Test
    void oneThatDoesNotComeIsNamed() {
        statuses.add(status(dataServer(4, false), serves(8), serves(9)));
        assertThat(run(NEW, "--timeout", "0")).isEqualTo(4);
        assertThat(server.err.toString()).contains("no data server data4:7100 has come within 0 s");
        assertThat(run("data4")).isEqualTo(2);
        assertThat(run(NEW, "--timeout", "-1")).isEqualTo(2);
    }
}
