package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.CompactionStatus;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.LevelStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code cairn compact} and {@code cairn status --databases}, against a server that is scripted.
 */
class CompactCommandTest {
    private final List<Method> asked = new CopyOnWriteArrayList<>();
    private final Queue<DatabasesReply> answers = new ConcurrentLinkedQueue<>();
    private final ScriptedServer server;
    private String refusal = "";

    CompactCommandTest() throws IOException {
        server = new ScriptedServer(this::answer);
    }

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        Method method = Method.forNumber(request.method());
        asked.add(method);
        if (method == Method.STATUS) {
            String address = server.address();
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
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("--mds", server.address()));
        return server.run(all.toArray(String[]::new));
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
    void itAsksUntilItIsDone() {
        answers.add(compacting(true, 0, ""));
        answers.add(compacting(true, 1 << 20, ""));
        answers.add(compacting(true, 1 << 20, ""));
        answers.add(compacting(false, 4 << 20, ""));
        assertThat(run("compact", "data-4")).isZero();
        assertThat(server.out.toString().lines())
                .as("progress is for terminals")
                .containsExactly("data-4  chunks-7  100 %, 4.00 MiB of 4.00 MiB");
        assertThat(asked)
                .containsExactly(
                        Method.STATUS,
                        Method.COMPACT,
                        Method.DATABASES,
                        Method.DATABASES,
                        Method.DATABASES);
        assertThat(server.err.toString()).isEmpty();
    }

    @Test
    void aCompactionThatEndsEarlyFailsAndSaysWhy() {
        answers.add(compacting(true, 0, ""));
        answers.add(compacting(false, 1 << 20, "stopped: /ssd is nearly full"));
        assertThat(run("compact", "mds-1", "--json")).isEqualTo(1);
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.at("/databases/0/compaction/error").stringValue()).contains("nearly full");
        assertThat(server.err.toString())
                .contains("mds-1: database chunks-7 is not compacted: stopped");
    }

    @Test
    void aServerThatWasStartedAnewHasNotDoneIt() {
        answers.add(compacting(true, 0, ""));
        answers.add(DatabasesReply.newBuilder().addDatabases(database()).build());
        assertThat(run("compact", "mds-1")).isEqualTo(1);
        assertThat(server.err.toString()).contains("restarted");
    }

    @Test
    void refusalsAndUnknownPartsHaveTheirExitCodes() {
        refusal = "compacting takes 7 bytes";
        assertThat(run("compact", "mds-1")).isEqualTo(1);
        assertThat(run("compact", "mds-2")).isEqualTo(2);
        assertThat(run("compact")).isEqualTo(2);
        assertThat(server.run("compact", "mds-1", "--mds", "127.0.0.1:1")).isEqualTo(4);
        assertThat(server.err.toString().lines().toList().get(0))
                .contains("compacting takes 7 bytes");
        assertThat(server.err.toString().lines().toList().get(1))
                .contains("the cluster has no part mds-2; those with databases are mds-1, data-4");
    }

    @Test
    void statusShowsLevelsByDevice() {
        answers.add(compacting(true, 1 << 20, ""));
        assertThat(run("status", "--databases")).isZero();
        assertThat(server.out.toString())
                .contains("database  mds-1  chunks-7  compacting, 25 %, 1.00 MiB of 4.00 MiB")
                .contains(
                        "level 2  3.00 MiB on the fast device, 1.00 MiB on the slow one, 2 tables");
        server.out.getBuffer().setLength(0);
        assertThat(run("status", "--databases", "--json")).isZero();
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.at("/databases/data-4/0/levels/0/slow_bytes").asLong()).isEqualTo(1 << 20);
    }
}
