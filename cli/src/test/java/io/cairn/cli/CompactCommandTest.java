package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.CompactionStatus;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.LevelStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code cairn compact} and {@code cairn status --databases}, against a server that is scripted.
 */
class CompactCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final RpcLoops loops = new RpcLoops(1, "test");
    private final List<Method> asked = new CopyOnWriteArrayList<>();
    private final Queue<DatabasesReply> answers = new ConcurrentLinkedQueue<>();
    private final RpcServer server;
    private String refusal = "";

    CompactCommandTest() throws IOException {
        server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> Hello.newBuilder().setRole(Role.ROLE_MDS).setId(1).build(),
                        HelloPolicy.ACCEPT,
                        this::answer,
                        RpcOptions.DEFAULT);
    }

    @AfterEach
    void close() {
        server.close();
        loops.close();
    }

    private void answer(RpcRequest request) {
        Method method = Method.forNumber(request.method());
        asked.add(method);
        if (method == Method.STATUS) {
            String address = RpcAddress.format(server.localAddress());
            request.reply(
                    StatusReply.newBuilder()
                            .addMembers(MdsMember.newBuilder().setId(1).setAddress(address))
                            .setMap(
                                    MapUpdate.newBuilder()
                                            .addServers(
                                                    Server.newBuilder()
                                                            .setId(4)
                                                            .setUp(true)
                                                            .setAddress(address)))
                            .build());
        } else if (method == Method.COMPACT && !refusal.isEmpty()) {
            request.fail(RpcStatus.fail(Errno.ENOSPC, refusal));
        } else {
            // The last one stands.
            DatabasesReply next = answers.size() > 1 ? answers.poll() : answers.peek();
            request.reply(Objects.requireNonNull(next));
        }
    }

    private int run(String... args) {
        CommandLine line = Main.commandLine(false, List.of(args).contains("--json"));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    private String mds() {
        return RpcAddress.format(server.localAddress());
    }

    private static DatabasesReply compacting(boolean running, long done, String error) {
        return DatabasesReply.newBuilder()
                .addDatabases(
                        database()
                                .setCompaction(
                                        CompactionStatus.newBuilder()
                                                .setRunning(running)
                                                .setTotalBytes(4 << 20)
                                                .setDoneBytes(done)
                                                .setError(error)))
                .build();
    }

    private static DatabaseStatus.Builder database() {
        return DatabaseStatus.newBuilder()
                .setName("chunks-7")
                .setTwoDevices(true)
                .setFastLevels(3)
                .addLevels(
                        LevelStatus.newBuilder()
                                .setLevel(2)
                                .setFastBytes(3 << 20)
                                .setSlowBytes(1 << 20)
                                .setTables(2));
    }

    @Test
    void progressIsShownUntilItIsDone() {
        answers.add(compacting(true, 0, ""));
        answers.add(compacting(true, 1 << 20, ""));
        answers.add(compacting(true, 1 << 20, ""));
        answers.add(compacting(false, 4 << 20, ""));
        assertThat(run("compact", "data-4", "--mds", mds())).isZero();
        assertThat(out.toString().lines())
                .containsExactly(
                        "data-4  chunks-7  0 %, 0 B of 4.00 MiB",
                        "data-4  chunks-7  25 %, 1.00 MiB of 4.00 MiB",
                        "data-4  chunks-7  100 %, 4.00 MiB of 4.00 MiB");
        assertThat(asked)
                .containsExactly(
                        Method.STATUS,
                        Method.COMPACT,
                        Method.DATABASES,
                        Method.DATABASES,
                        Method.DATABASES);
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aCompactionThatEndsEarlyFailsAndSaysWhy() {
        answers.add(compacting(true, 0, ""));
        answers.add(compacting(false, 1 << 20, "stopped: /ssd is nearly full"));
        assertThat(run("compact", "mds-1", "--json", "--mds", mds())).isEqualTo(1);
        JsonNode json = JsonMapper.shared().readTree(out.toString());
        assertThat(json.at("/databases/0/compaction/error").stringValue()).contains("nearly full");
        assertThat(err.toString()).contains("mds-1: database chunks-7 is not compacted: stopped");
    }

    @Test
    void aServerThatWasStartedAnewHasNotDoneIt() {
        answers.add(compacting(true, 0, ""));
        answers.add(DatabasesReply.newBuilder().addDatabases(database()).build());
        assertThat(run("compact", "mds-1", "--mds", mds())).isEqualTo(1);
        assertThat(err.toString()).contains("started anew");
    }

    @Test
    void refusalsAndUnknownPartsHaveTheirExitCodes() {
        refusal = "compacting takes 7 bytes";
        assertThat(run("compact", "mds-1", "--mds", mds())).isEqualTo(1);
        assertThat(run("compact", "mds-2", "--mds", mds())).isEqualTo(2);
        assertThat(run("compact", "--mds", mds())).isEqualTo(2);
        assertThat(run("compact", "mds-1", "--mds", "127.0.0.1:1")).isEqualTo(4);
        assertThat(err.toString().lines().toList().get(0)).contains("compacting takes 7 bytes");
        assertThat(err.toString().lines().toList().get(1))
                .contains("the cluster has no part mds-2; those with databases are mds-1, data-4");
    }

    @Test
    void statusShowsLevelsByDevice() {
        answers.add(compacting(true, 1 << 20, ""));
        assertThat(run("status", "--databases", "--mds", mds())).isZero();
        assertThat(out.toString())
                .contains("database  mds-1  chunks-7  compacting, 25 %, 1.00 MiB of 4.00 MiB")
                .contains(
                        "level 2  3.00 MiB on the fast device, 1.00 MiB on the slow one, 2 tables");
        out.getBuffer().setLength(0);
        assertThat(run("status", "--databases", "--json", "--mds", mds())).isZero();
        JsonNode json = JsonMapper.shared().readTree(out.toString());
        assertThat(json.at("/databases/data-4/0/levels/0/slow_bytes").asLong()).isEqualTo(1 << 20);
    }
}
