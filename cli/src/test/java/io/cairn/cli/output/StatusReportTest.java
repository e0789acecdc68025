package io.cairn.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberStatus;
import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.SessionStatus;
import io.cairn.common.proto.StatusReply;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class StatusReportTest {
    private static List<String> lines(StatusReply status, String head) {
        StringWriter out = new StringWriter();
        StatusReport.of(status).print(new PrintWriter(out));
        return out.toString().lines().filter(line -> line.startsWith(head)).toList();
    }

    /** Two metadata servers, of which one is not heard of, a data server and a mount. */
    private static StatusReply.Builder cluster(String mds, String data, String mount) {
        return StatusReply.newBuilder()
                .setLeader(1)
                .addMembers(MdsMember.newBuilder().setId(1))
                .addMembers(MdsMember.newBuilder().setId(2))
                .addMemberStatus(MemberStatus.newBuilder().setId(1).setRelease(mds))
                .addMemberStatus(MemberStatus.newBuilder().setId(2).setRelease(mds))
                .setMap(MapUpdate.newBuilder().addServers(Server.newBuilder().setId(1).setUp(true)))
                .addServers(ServerStatus.newBuilder().setServer(1).setRelease(data))
                .addSessions(SessionStatus.newBuilder().setSession(17).setRelease(mount));
    }

    @Test
    void oneReleaseNeedsOneLine() {
        StatusReply status = cluster("0.2.0", "0.2.0", "0.2.0").build();
        assertThat(lines(status, "release")).containsExactly("release   0.2.0  all parts");
        assertThat(StatusReport.of(status).asMap())
                .containsEntry(
                        "releases",
                        Map.of("0.2.0", List.of("mds-1", "mds-2", "data-1", "mount-17")));
    }

    @Test
    void releasesThatDifferNameTheirParts() {
        StatusReply status = cluster("0.2.0", "0.1.0", "").build();
        assertThat(lines(status, "release"))
                .containsExactly(
                        "release   0.2.0  mds-1, mds-2",
                        "release   0.1.0  data-1",
                        "release   not known  mount-17");
        Map<String, Object> json = StatusReport.of(status).asMap();
        assertThat(String.valueOf(json.get("mds"))).contains("release=0.2.0");
        assertThat(String.valueOf(json.get("data_servers"))).contains("release=0.1.0");
        assertThat(String.valueOf(json.get("mounts"))).contains("release=,");
    }

    @Test
    void aServerThatWasNeverHeardOfIsNotKnown() {
        StatusReply status = cluster("0.2.0", "0.2.0", "0.2.0").clearServers().build();
        assertThat(lines(status, "release"))
                .containsExactly(
                        "release   0.2.0  mds-1, mds-2, mount-17", "release   not known  data-1");
    }

    @Test
    void aNoteIsShownAndDegradesNothing() {
        StatusReply status =
                cluster("0.2.0", "0.2.0", "0.2.0").addNotes("disk 3: as it is").build();
        assertThat(lines(status, "note")).containsExactly("note      disk 3: as it is");
        assertThat(lines(status, "health")).containsExactly("health    ok");
        assertThat(StatusReport.of(status).isDegraded()).isFalse();
        assertThat(StatusReport.of(status).asMap())
                .containsEntry("notes", List.of("disk 3: as it is"))
                .containsEntry("warnings", List.of());
        StatusReply warning = status.toBuilder().addWarnings("disk 3: not as it should").build();
        assertThat(StatusReport.of(warning).isDegraded()).isTrue();
        assertThat(lines(warning, "warning:"))
                .containsExactly("warning:  disk 3: not as it should");
    }

    /**
     * Four placement groups: two of a server that reports, one of one that does not, one of one
     * that is down.
     */
    @Test
    void placementGroupsAreCountedByWhatTheirServersReport() {
        MapUpdate.Builder map = MapUpdate.newBuilder();
        for (int server = 1; server <= 3; server++) {
            map.addServers(Server.newBuilder().setId(server).setUp(server != 3))
                    .addDisks(Disk.newBuilder().setId(10 * server).setServer(server));
        }
        for (int disk : new int[] {10, 10, 10, 20, 30}) {
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(map.getPgsCount())
                            .addReplicas(disk)
                            .addInSync(disk));
        }
        PgReport report =
                PgReport.newBuilder()
                        .setActive(1)
                        .setDamaged(1)
                        .addProblems(
                                PgProblem.newBuilder()
                                        .setPg(0x10003)
                                        .setDamaged(true)
                                        .setSinceMillis(1500)
                                        .setCause("why"))
                        .build();
        StatusReply status =
                StatusReply.newBuilder()
                        .setMap(map)
                        .addServers(
                                ServerStatus.newBuilder()
                                        .setServer(1)
                                        .setRelease("0.2.0")
                                        .setSinceHeartbeatMillis(1234)
                                        .setPgs(report))
                        .addServers(ServerStatus.newBuilder().setServer(2))
                        .build();
        assertThat(lines(status, "pgs"))
                .containsExactly("pgs       1 active, 2 not serving, 1 DAMAGED, 1 not known");
        assertThat(lines(status, "data      1").getFirst()).endsWith("up, last seen 1.2 s ago");
        assertThat(lines(status, "data      2").getFirst())
                .endsWith("up, not seen yet by this leader");
        Map<String, Object> json = StatusReport.of(status).asMap();
        assertThat(json)
                .extractingByKey("pgs", InstanceOfAssertFactories.map(String.class, Integer.class))
                .containsEntry("active", 1)
                .containsEntry("not_serving", 2)
                .containsEntry("damaged", 1)
                .containsEntry("unknown", 1)
                .containsEntry("degraded", 0)
                .containsEntry("below_min_size", 0)
                .containsEntry("recovering", 0);
        assertThat(String.valueOf(json.get("data_servers")))
                .contains("pg_problems=[{pg=10003, damaged=true, since_millis=1500, cause=why}]")
                .contains("since_heartbeat_millis=1234");

        StatusReply well =
                status.toBuilder()
                        .setMap(
                                map.clearPgs()
                                        .addPgs(
                                                PlacementGroup.newBuilder()
                                                        .addReplicas(10)
                                                        .addInSync(10)))
                        .setServers(
                                0,
                                ServerStatus.newBuilder()
                                        .setServer(1)
                                        .setPgs(PgReport.newBuilder().setActive(1)))
                        .build();
        assertThat(lines(well, "pgs")).containsExactly("pgs       1 active");
    }

    /** Three of four lack a replica, one of them two; two servers bring some up to date. */
    @Test
    void placementGroupsThatLackReplicasAreCountedByTheMap() {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .addPools(
                                Pool.newBuilder().setId(1).setSize(3).setMinSize(2).setPgCount(4));
        for (int inSync : new int[] {1, 2, 2, 3}) {
            PlacementGroup.Builder pg =
                    PlacementGroup.newBuilder()
                            .setPg((1 << 16) + map.getPgsCount())
                            .addAllReplicas(List.of(10, 20, 30));
            map.addPgs(pg.addAllInSync(pg.getReplicasList().subList(0, inSync)));
        }
        StatusReply.Builder status = StatusReply.newBuilder();
        for (int server = 1; server <= 3; server++) {
            map.addServers(Server.newBuilder().setId(server).setUp(true))
                    .addDisks(Disk.newBuilder().setId(10 * server).setServer(server));
            status.addServers(
                    ServerStatus.newBuilder()
                            .setServer(server)
                            .setPgs(
                                    PgReport.newBuilder()
                                            .setActive(server == 1 ? 4 : 0)
                                            .setRecovering(server)));
        }
        assertThat(lines(status.setMap(map).build(), "pgs"))
                .containsExactly(
                        "pgs       4 active, 3 degraded, 1 below min_size, 6 replicas recovering");
        assertThat(StatusReport.of(status.build()).asMap())
                .extractingByKey("pgs", InstanceOfAssertFactories.map(String.class, Integer.class))
                .containsEntry("degraded", 3)
                .containsEntry("below_min_size", 1)
                .containsEntry("recovering", 6);
        assertThat(lines(status.build(), "pool").getFirst())
                .endsWith("4 of 4 placement groups placed");
    }

    @Test
    void whatIsStillToBeCopiedIsShownWithItsRateAndItsEnd() {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .addPools(Pool.newBuilder().setId(1).setSize(2).setMinSize(1))
                        .addPgs(moving(0, List.of(10, 20), List.of(10, 30)))
                        .addPgs(moving(1, List.of(10, 20), List.of(20, 10, 30)))
                        .addPgs(moving(2, List.of(10, 20), List.of(10)));
        StatusReply status =
                StatusReply.newBuilder()
                        .setMap(map)
                        .setReplicasToCopy(90)
                        .setBytesToCopy(3L << 30)
                        .setCopyRate(1.5)
                        .setCopyEtaSeconds(60)
                        .build();
        assertThat(lines(status, "moving"))
                .containsExactly(
                        "moving    1 placement groups, 90 replicas still to be copied, at most about 3.00 GiB, 1.50 replicas/s, done in about 60 s");
        assertThat(lines(status, "pgs").getFirst()).contains("1 degraded, 1 moving");
        assertThat(StatusReport.of(status).asMap())
                .containsEntry(
                        "moving",
                        Map.of(
                                "pgs",
                                1,
                                "replicas_to_copy",
                                90,
                                "bytes_to_copy",
                                3L << 30,
                                "replicas_per_second",
                                1.5,
                                "eta_seconds",
                                60.0));
        StatusReply unsaid = status.toBuilder().setCopyRate(0).setCopyEtaSeconds(-1).build();
        assertThat(lines(unsaid, "moving").getFirst())
                .endsWith("still to be copied, at most about 3.00 GiB");
        assertThat(lines(StatusReply.getDefaultInstance(), "moving")).isEmpty();
    }

    private static PlacementGroup.Builder moving(
            int index, List<Integer> replicas, List<Integer> inSync) {
        return PlacementGroup.newBuilder()
                .setPg((1 << 16) + index)
                .addAllReplicas(replicas)
                .addAllInSync(inSync);
    }

    @Test
    void theBacklogIsShownWithItsRateAndItsEnd() {
        assertThat(lines(StatusReply.getDefaultInstance(), "deleting")).isEmpty();
        assertThat(deleting(90))
                .isEqualTo("12,345 files, 3.00 KiB, 137 files/s, done in about 90 s");
        assertThat(deleting(0.2)).endsWith("about 1 s");
        assertThat(deleting(600)).endsWith("about 10 min");
        assertThat(deleting(3 * 3600)).endsWith("about 3 h");
        assertThat(deleting(5 * 86_400)).endsWith("about 5 days");
        assertThat(deleting(-1)).isEqualTo("12,345 files, 3.00 KiB, none deleted lately");
        StatusReply limited = backlog(90).toBuilder().setDeletionLimit(200).build();
        assertThat(lines(limited, "deleting").getFirst())
                .endsWith("about 90 s (reaper.rate: 200/s at most)");
        assertThat(StatusReport.of(limited).asMap())
                .containsEntry("deletion_limit_inodes_per_second", 200L);
        assertThat(StatusReport.of(backlog(90)).asMap())
                .containsEntry("deletion_backlog_inodes", 12_345L)
                .containsEntry("deletion_inodes_per_second", 137.2)
                .containsEntry("deletion_eta_seconds", 90.0);
        assertThat(StatusReport.of(backlog(-1)).asMap()).doesNotContainKey("deletion_eta_seconds");
    }

    private static String deleting(double etaSeconds) {
        return lines(backlog(etaSeconds), "deleting  ").getFirst().substring("deleting  ".length());
    }

    private static StatusReply backlog(double etaSeconds) {
        return StatusReply.newBuilder()
                .setDeletionBacklogInodes(12_345)
                .setDeletionBacklogBytes(3072)
                .setDeletionRate(137.2)
                .setDeletionEtaSeconds(etaSeconds)
                .build();
    }
}
