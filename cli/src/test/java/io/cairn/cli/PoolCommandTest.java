package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.CreatePoolRequest;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.ListPoolsReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.PoolReply;
import io.cairn.common.proto.PoolStatus;
import io.cairn.common.proto.RemovePoolRequest;
import io.cairn.common.proto.SetPoolRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code cairn pool}, against a leader that is scripted. */
final class PoolCommandTest {
    private static final Pool FAST =
            Pool.newBuilder()
                    .setId(2)
                    .setName("fast")
                    .setSize(3)
                    .setMinSize(2)
                    .setPgCount(64)
                    .setFailureDomain(FailureDomain.FAILURE_DOMAIN_HOST)
                    .setFullPercent(90)
                    .setFill(Fill.FILL_NEAR_FULL)
                    .addReplicaClasses(DeviceClass.DEVICE_CLASS_SSD)
                    .addReplicaClasses(DeviceClass.DEVICE_CLASS_HDD)
                    .addReplicaClasses(DeviceClass.DEVICE_CLASS_HDD)
                    .build();

    private final List<MessageLite> asked = new CopyOnWriteArrayList<>();
    private final ScriptedServer server = new ScriptedServer(this::answer);
    private volatile RpcStatus refusal = RpcStatus.OK;

    PoolCommandTest() throws IOException {}

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        PoolReply reply = PoolReply.newBuilder().setPool(FAST).build();
        switch (Method.forNumber(request.method())) {
            case CREATE_POOL -> asked.add(Heads.parse(CreatePoolRequest.parser(), request.head()));
            case SET_POOL -> asked.add(Heads.parse(SetPoolRequest.parser(), request.head()));
            case REMOVE_POOL -> asked.add(Heads.parse(RemovePoolRequest.parser(), request.head()));
            case LIST_POOLS -> {
                request.reply(
                        ListPoolsReply.newBuilder()
                                .addPools(
                                        PoolStatus.newBuilder()
                                                .setPool(
                                                        Pool.newBuilder()
                                                                .setId(1)
                                                                .setName("default")
                                                                .setSize(3)
                                                                .setMinSize(2)
                                                                .setPgBase(128)
                                                                .setPgCount(130)
                                                                .setPgTarget(256)))
                                .addPools(
                                        PoolStatus.newBuilder()
                                                .setPool(FAST)
                                                .setUsers(12)
                                                .setPlaced(64))
                                .build());
                return;
            }
            case null, default -> {
                request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "no method"));
                return;
            }
        }
        if (refusal.ok()) {
            request.reply(reply);
        } else {
            request.fail(refusal);
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

    @Test
    void poolsAreListed() {
        assertThat(run("pool", "ls")).isZero();
        assertThat(lines())
                .containsExactly(
                        "ID   POOL                 SIZE  MIN          PGS  PLACED DOMAIN  CLASSES               USERS  FILL",
                        "1    default                 3    2      130/256       0 disk    any                       -  ok",
                        "2    fast                    3    2           64      64 host    ssd,hdd,hdd              12  near full");
        assertThat(run("pool", "ls", "--json")).isZero();
        JsonNode json = JsonMapper.shared().readTree(String.join("\n", lines()));
        assertThat(json.at("/1/users").asInt()).isEqualTo(12);
        assertThat(json.at("/0/pg_count").asInt()).isEqualTo(130);
        assertThat(json.at("/0/pg_target").asInt()).isEqualTo(256);
        assertThat(json.at("/0/pg_base").asInt()).isEqualTo(128);
        assertThat(json.at("/1/pg_target").asInt()).isEqualTo(64);
        assertThat(json.at("/0/users").isMissingNode()).isTrue();
        assertThat(json.at("/1/device_classes").stringValue()).isEqualTo("ssd,hdd,hdd");
    }

    @Test
    void optionsAreAskedFor() {
        assertThat(run("pool", "create", "fast")).isZero();
        assertThat(
                        run(
                                "pool",
                                "create",
                                "fast",
                                "--size",
                                "3",
                                "--min-size",
                                "2",
                                "--pgs",
                                "64",
                                "--failure-domain",
                                "host",
                                "--device-class",
                                "ssd,hdd,hdd",
                                "--full",
                                "90"))
                .isZero();
        assertThat(asked)
                .containsExactly(
                        CreatePoolRequest.newBuilder()
                                .setPool(
                                        Pool.newBuilder()
                                                .setName("fast")
                                                .setSize(3)
                                                .setFailureDomain(
                                                        FailureDomain.FAILURE_DOMAIN_SERVER))
                                .build(),
                        CreatePoolRequest.newBuilder()
                                .setPool(FAST.toBuilder().clearId().clearFill())
                                .build());
        assertThat(lines()).containsOnly("pool fast is made");
        assertThat(run("pool", "set", "fast", "--min-size", "1", "--device-class", "any")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(
                        SetPoolRequest.newBuilder()
                                .setName("fast")
                                .setMinSize(1)
                                .setSetClasses(true)
                                .build());
        assertThat(run("pool", "set", "fast", "--pgs", "256")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(SetPoolRequest.newBuilder().setName("fast").setPgCount(256).build());
        assertThat(run("pool", "set", "fast", "--pgs", "auto")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(SetPoolRequest.newBuilder().setName("fast").setPgAuto(true).build());
        assertThat(run("pool", "set", "fast", "--near-full", "70", "--full", "0")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(
                        SetPoolRequest.newBuilder()
                                .setName("fast")
                                .setNearFullPercent(70)
                                .setFullPercent(0)
                                .build());
        assertThat(run("pool", "rename", "slow", "fast")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(SetPoolRequest.newBuilder().setName("slow").setNewName("fast").build());
        assertThat(run("pool", "remove", "fast")).isZero();
        assertThat(asked.getLast())
                .isEqualTo(RemovePoolRequest.newBuilder().setName("fast").build());
        assertThat(lines())
                .containsExactly(
                        "pool fast is changed: 'cairn balance --plan' says what moves",
                        "pool fast is changed: 'cairn balance --plan' says what moves",
                        "pool fast is changed: 'cairn balance --plan' says what moves",
                        "pool fast is changed: 'cairn balance --plan' says what moves",
                        "pool fast is called so now",
                        "pool fast is removed");
    }

    @Test
    void whatCannotBeIsRefused() {
        assertThat(run("pool", "set", "fast", "--pgs", "many")).isEqualTo(2);
        assertThat(server.err.toString())
                .contains("--pgs is a number of placement groups or auto, and not many");
        assertThat(run("pool", "create", "fast", "--device-class", "nvme")).isEqualTo(2);
        assertThat(run("pool", "create", "fast", "--failure-domain", "room")).isEqualTo(2);
        assertThat(run("pool", "create")).isEqualTo(2);
        assertThat(asked).isEmpty();
        refusal = RpcStatus.fail(Errno.EBUSY, "pool fast is named by the layouts of 12 files");
        assertThat(run("pool", "remove", "fast")).isEqualTo(1);
        assertThat(server.err.toString())
                .contains(
                        "cairn: pool fast is named by the layouts of 12 files; nothing was changed");
    }
}
