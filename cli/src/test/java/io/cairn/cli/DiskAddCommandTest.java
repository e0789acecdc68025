package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.AddDisksReply;
import io.cairn.common.proto.AddDisksRequest;
import io.cairn.common.proto.AddedDisk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.Heads;
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

/** {@code cairn disk add} against a scripted server, which is the leader and data server 3. */
class DiskAddCommandTest {
    private static final AddedDisk ADDED =
            AddedDisk.newBuilder()
                    .setData("/mnt/new/data")
                    .setDisk(9)
                    .setCapacityBytes(3L << 30)
                    .build();

    private final List<Boolean> begun = new CopyOnWriteArrayList<>();
    private final Queue<AddDisksReply> replies = new ConcurrentLinkedQueue<>();
    private final ScriptedServer server;

    DiskAddCommandTest() throws IOException {
        server = new ScriptedServer(this::answer);
    }

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        switch (Method.forNumber(request.method())) {
            case STATUS ->
                    request.reply(
                            StatusReply.newBuilder()
                                    .setMap(
                                            MapUpdate.newBuilder()
                                                    .addServers(
                                                            Server.newBuilder()
                                                                    .setId(3)
                                                                    .setAddress(server.address())))
                                    .build());
            case ADD_DISKS -> {
                begun.add(Heads.parse(AddDisksRequest.parser(), request.head()).getBegin());
                request.reply(Objects.requireNonNull(replies.poll()));
            }
            case null, default -> request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "no method"));
        }
    }

    private int run(String... args) {
        List<String> all = new ArrayList<>(List.of("disk", "add"));
        all.addAll(List.of(args));
        all.addAll(List.of("--mds", server.address()));
        return server.run(all.toArray(String[]::new));
    }

    @Test
    void itWaitsUntilAllAreOpen() {
        replies.add(AddDisksReply.newBuilder().setRunning(true).build());
        replies.add(AddDisksReply.newBuilder().setRunning(true).build());
        replies.add(AddDisksReply.newBuilder().addDisks(ADDED).build());
        assertThat(run("3")).isZero();
        assertThat(begun).containsExactly(true, false, false);
        assertThat(server.out.toString().lines())
                .containsExactly("disk 9: /mnt/new/data, 3.00 GiB");
    }

    @Test
    void whatDoesNotServeIsTold() {
        AddedDisk failed =
                AddedDisk.newBuilder().setData("/mnt/b/data").setFailure("not mounted").build();
        replies.add(AddDisksReply.newBuilder().addDisks(ADDED).addDisks(failed).build());
        assertThat(run("3", "--json")).isEqualTo(1);
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.at("/0/id").asInt()).isEqualTo(9);
        assertThat(json.at("/1/id").asInt()).isZero();
        assertThat(json.at("/1/failure").stringValue()).isEqualTo("not mounted");
    }

    @Test
    void aConfigurationWithoutNewDisksIsNoFailure() {
        replies.add(AddDisksReply.getDefaultInstance());
        assertThat(run("3")).isZero();
        assertThat(server.out.toString()).contains("has no new disk: give it a [[disk]] first");
    }

    @Test
    void aConfigurationThatIsRefusedIsNamed() {
        replies.add(AddDisksReply.newBuilder().setFailure("/etc/x.toml:3: disk: what").build());
        assertThat(run("3")).isEqualTo(3);
        assertThat(server.err.toString())
                .contains("data server 3: /etc/x.toml:3: disk: what; nothing was changed");
        assertThat(run("4")).isEqualTo(2);
        assertThat(server.err.toString()).contains("no part data-4");
    }
}
