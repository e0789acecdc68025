package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.ScrubProgressReply;
import io.cairn.common.proto.ScrubReply;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.ScrubRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
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

/**
 * {@code cairn scrub} and what {@code cairn status} says of scrubs, against a scripted server that
 * is the leader and the only data server that is up.
 */
class ScrubCommandTest {
    private static final int FIRST = 0x10000;

    private final List<ScrubRequest> asked = new CopyOnWriteArrayList<>();
    private final Queue<ScrubProgressReply> progress = new ConcurrentLinkedQueue<>();
    private final ScriptedServer server;
    private volatile List<Integer> begun = List.of(FIRST, FIRST + 1);
    private volatile ScrubReport report = ScrubReport.getDefaultInstance();

    ScrubCommandTest() throws IOException {
        server = new ScriptedServer(this::answer);
    }

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        switch (Method.forNumber(request.method())) {
            case STATUS -> request.reply(status());
            case SCRUB -> {
                asked.add(Heads.parse(ScrubRequest.parser(), request.head()));
                request.reply(ScrubReply.newBuilder().setRun(7).addAllPgs(begun).build());
            }
            case SCRUB_PROGRESS ->
                    // The last one stands.
                    request.reply(
                            Objects.requireNonNull(
                                    progress.size() > 1 ? progress.poll() : progress.peek()));
            case null, default -> request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "no method"));
        }
    }

    /** Two groups have their primary on the server that is up, one on the other. */
    private StatusReply status() {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .addServers(Server.newBuilder().setId(1).setUp(true).setAddress(address()))
                        .addServers(Server.newBuilder().setId(2).setAddress("data2:7100"))
                        .addDisks(Disk.newBuilder().setId(10).setServer(1))
                        .addDisks(Disk.newBuilder().setId(20).setServer(2));
        for (int i = 0; i < 3; i++) {
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(FIRST + i)
                            .addAllReplicas(List.of(10, 20))
                            .addAllInSync(i < 2 ? List.of(10, 20) : List.of(20, 10)));
        }
        return StatusReply.newBuilder()
                .setMap(map)
                .addServers(
                        ServerStatus.newBuilder().setServer(1).setRelease("0.1.0").setScrub(report))
                .build();
    }

    private String address() {
        return server.address();
    }

    private int run(String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("--mds", address()));
        return server.run(all.toArray(String[]::new));
    }

    private static ScrubProgressReply.Builder of(int waiting, int done) {
        return ScrubProgressReply.newBuilder().setKnown(true).setWaiting(waiting).setDone(done);
    }

    @Test
    void itWaitsUntilAllAreDone() {
        progress.add(of(2, 0).build());
        progress.add(of(1, 1).setChunks(5).build());
        progress.add(of(0, 2).setChunks(12).setBytes(3 << 20).build());
        assertThat(run("scrub", "10000", "10001", "--deep")).isZero();
        assertThat(asked).hasSize(1);
        assertThat(asked.getFirst().getPgsList()).containsExactly(FIRST, FIRST + 1);
        assertThat(asked.getFirst().getDeep()).isTrue();
        assertThat(server.out.toString().lines())
                .containsExactly(
                        "scrubbed  2 placement groups, 12 chunks, 3.00 MiB read on each replica and verified");
    }

    @Test
    void damageHasAnExitCodeOfItsOwn() {
        progress.add(of(0, 2).setBadBlocks(3).addDifferences("chunk 1 of inode 2").build());
        assertThat(run("scrub", "10000", "10001", "--json")).isEqualTo(6);
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.get("bad_blocks").asInt()).isEqualTo(3);
        assertThat(json.at("/differences/0").stringValue()).isEqualTo("chunk 1 of inode 2");
        assertThat(json.get("deep").asBoolean()).isFalse();
    }

    @Test
    void groupsThatWereNotScrubbedAreTold() {
        progress.add(of(0, 1).build());
        begun = List.of(FIRST);
        assertThat(run("scrub", "--all")).isEqualTo(1);
        assertThat(server.out.toString())
                .contains("scrubbed  1 placement groups")
                .contains("failed    placement group 10002: its primary is not there")
                .contains("failed    placement group 10001: another disk has become its primary");
    }

    @Test
    void aServerThatWasRestartedDoesNotKnowOfIt() {
        progress.add(of(2, 0).build());
        progress.add(ScrubProgressReply.getDefaultInstance());
        assertThat(run("scrub", "10000", "10001")).isEqualTo(1);
        assertThat(server.out.toString())
                .contains("failed    2 placement groups: the data server was restarted");
    }

    @Test
    void badCommandLinesAreRefused() {
        assertThat(run("scrub")).isEqualTo(2);
        assertThat(run("scrub", "--all", "10000")).isEqualTo(2);
        assertThat(run("scrub", "10009")).isEqualTo(2);
        assertThat(run("scrub", "x")).isEqualTo(2);
        assertThat(server.err.toString())
                .contains("name placement groups, or give --all")
                .contains("there is no placement group 10009")
                .contains("'x' is no number of a placement group");
        assertThat(asked).isEmpty();
    }

    @Test
    void statusShowsTheAgeOfTheOldestScrubsAndWhatWasFound() {
        report =
                ScrubReport.newBuilder()
                        .setGroups(2)
                        .setOldestLightSeconds(3 * 3600)
                        .setOldestDeepSeconds(5 * 86_400)
                        .setNeverDeep(1)
                        .setRunning(1)
                        .setDifferences(2)
                        .setQuarantined(4)
                        .build();
        var _ = run("status");
        assertThat(server.out.toString())
                .contains(
                        "scrub     oldest light 3 h ago, oldest deep 5 days ago, 1 placement groups never scrubbed deeply, 1 running, 2 DIFFERENCES between replicas, 4 blocks in QUARANTINE");
        server.out.getBuffer().setLength(0);
        var _ = run("status", "--json");
        JsonNode scrub = JsonMapper.shared().readTree(server.out.toString()).get("scrub");
        assertThat(scrub.get("oldest_deep_seconds").asLong()).isEqualTo(5 * 86_400);
        assertThat(scrub.get("quarantined_blocks").asInt()).isEqualTo(4);
    }
}
