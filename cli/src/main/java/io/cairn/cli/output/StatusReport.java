package io.cairn.cli.output;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberStatus;
import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.SessionStatus;
import io.cairn.common.proto.StatusReply;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@code cairn status} shows, as text or as JSON. */
public final class StatusReport {
    private final StatusReply status;
    private final List<String> warnings;
    private final PartReleases releases;
    private final DiskTable disks;

    private StatusReport(StatusReply status) {
        this.status = status;
        this.disks = new DiskTable(status);
        this.warnings = warnings(status, disks);
        this.releases = new PartReleases(status);
    }

    public static StatusReport of(StatusReply status) {
        return new StatusReport(status);
    }

    /** {@code ok} when everything serves, {@code degraded} while something is missing or full. */
    public String health() {
        return isDegraded() ? "degraded" : "ok";
    }

    /** Whether there is anything to warn of. */
    public boolean isDegraded() {
        return !warnings.isEmpty();
    }

    public Map<String, Object> asMap() {
        MapUpdate map = status.getMap();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("health", health());
        json.put("warnings", warnings);
        json.put("notes", status.getNotesList());
        json.put("cluster_id", Uuids.hex(status.getClusterId()));
        json.put("leader", status.getLeader());
        json.put("term", status.getTerm());
        json.put("leader_lease_millis", status.getLeaderLeaseMillis());
        json.put("feature_level", status.getFeatureLevel());
        json.put("map_epoch", map.getEpoch());
        json.put("capacity_bytes", status.getSpace().getCapacityBytes());
        json.put("used_bytes", usedBytes());
        json.put("free_bytes", status.getSpace().getFreeBytes());
        if (status.getSpace().hasAvailableBytes()) {
            json.put("available_bytes", status.getSpace().getAvailableBytes());
        }
        json.put("inodes_used", status.getSpace().getInodesUsed());
        Backlog.of(status).putInto(json);
        json.put("pgs", PgCounts.of(status).asMap());
        json.put("moving", CopyBacklog.of(status).asMap());
        json.put("scrub", ScrubStatus.of(status).asMap());
        json.put("orphans", OrphanTable.asMap(status.getOrphans()));
        json.put("releases", releases.byRelease());
        List<Object> mds = new ArrayList<>();
        for (MdsMember member : status.getMembersList()) {
            Map<String, Object> m = new LinkedHashMap<>();
            m.put("id", member.getId());
            m.put("address", member.getAddress());
            m.put("raft_address", member.getRaftAddress());
            m.put("leader", member.getId() == status.getLeader());
            m.put("release", releases.of("mds-" + member.getId()));
            MemberStatus heard = memberStatus(member);
            if (heard != null) {
                m.put("heard", heard.getHeard());
                m.put("since_heard_millis", heard.getSinceHeardMillis());
                m.put("configured_lease_millis", heard.getConfiguredLeaseMillis());
                m.put("joining", heard.getJoining());
                m.put("feature_level", heard.getFeatureLevel());
            }
            mds.add(m);
        }
        json.put("mds", mds);
        List<Object> servers = new ArrayList<>();
        for (Server server : map.getServersList()) {
            Map<String, Object> s = new LinkedHashMap<>();
            s.put("id", server.getId());
            s.put("address", server.getAddress());
            s.put("up", server.getUp());
            s.put("release", releases.of("data-" + server.getId()));
            s.put("host", server.getHost());
            s.put("rack", server.getRack());
            s.put("since_heartbeat_millis", serverStatus(server).getSinceHeartbeatMillis());
            s.put("disks", disks(server));
            s.put("pg_problems", pgProblems(server));
            servers.add(s);
        }
        json.put("data_servers", servers);
        List<Object> pools = new ArrayList<>();
        for (Pool pool : map.getPoolsList()) {
            Map<String, Object> p = new LinkedHashMap<>();
            p.put("id", pool.getId());
            p.put("name", pool.getName());
            p.put("size", pool.getSize());
            p.put("min_size", pool.getMinSize());
            p.put("pg_count", pool.getPgCount());
            p.put("pg_target", ClusterMap.targetOf(pool));
            p.put("placed_pgs", placedPgs(pool));
            pools.add(p);
        }
        json.put("pools", pools);
        List<Object> mounts = new ArrayList<>();
        for (SessionStatus session : status.getSessionsList()) {
            Map<String, Object> m = new LinkedHashMap<>();
            m.put("session", session.getSession());
            m.put("description", session.getDescription());
            m.put("address", session.getAddress());
            m.put("release", session.getRelease());
            m.put("age_millis", session.getAgeMillis());
            m.put("since_renewal_millis", session.getSinceRenewalMillis());
            m.put("open_files", session.getOpenFiles());
            mounts.add(m);
        }
        json.put("mounts", mounts);
        return json;
    }

    public void print(PrintWriter out) {
        MapUpdate map = status.getMap();
        out.printf("health    %s%n", health());
        warnings.forEach(w -> out.printf("warning:  %s%n", w));
        status.getNotesList().forEach(n -> out.printf("note      %s%n", n));
        out.printf(
                "space     %s used of %s, %s free, %,d inodes%n",
                Sizes.text(usedBytes()),
                Sizes.text(status.getSpace().getCapacityBytes()),
                Sizes.text(status.getSpace().getFreeBytes()),
                status.getSpace().getInodesUsed());
        if (status.getDeletionBacklogInodes() > 0) {
            out.printf("deleting  %s%n", Backlog.of(status).text());
        }
        releases.lines().forEach(line -> out.printf("release   %s%n", line));
        out.printf(
                "group     feature level %d, leader's lease %.1f s%n",
                status.getFeatureLevel(), status.getLeaderLeaseMillis() / 1000.0);
        for (MdsMember member : status.getMembersList()) {
            out.printf("mds       %d  %s%s%n", member.getId(), member.getAddress(), role(member));
        }
        for (Server server : map.getServersList()) {
            out.printf(
                    "data      %d  %s  %s%s%n",
                    server.getId(),
                    server.getAddress(),
                    server.getUp() ? "up" : "DOWN",
                    serverStatus(server).getRelease().isEmpty()
                            ? ", not seen yet by this leader"
                            : lastSeen(serverStatus(server).getSinceHeartbeatMillis()));
            for (Disk disk : map.getDisksList()) {
                if (disk.getServer() == server.getId()) {
                    DiskStatus d = diskStatus(server, disk);
                    out.printf(
                            "          disk %d  %s%s used of %s, WAL %s of %s%n",
                            disk.getId(),
                            mark(disk, d),
                            Sizes.text(d.getUsedBytes()),
                            Sizes.text(disk.getCapacityBytes()),
                            Sizes.text(d.getWalUsedBytes()),
                            Sizes.text(d.getWalCapacityBytes()));
                }
            }
        }
        for (Pool pool : map.getPoolsList()) {
            out.printf(
                    "pool      %s  %d replicas, %d of %d placement groups placed%s%n",
                    pool.getName(),
                    pool.getSize(),
                    placedPgs(pool),
                    pool.getPgCount(),
                    splitting(pool));
        }
        if (map.getPgsCount() > 0) {
            out.printf("pgs       %s%n", PgCounts.of(status).text());
        }
        if (!CopyBacklog.of(status).isEmpty()) {
            out.printf("moving    %s%n", CopyBacklog.of(status).text());
        }
        if (!ScrubStatus.of(status).isEmpty()) {
            out.printf("scrub     %s%n", ScrubStatus.of(status).text());
        }
        String orphans = OrphanTable.text(status.getOrphans());
        if (!orphans.isEmpty()) {
            out.printf("orphans   %s%n", orphans);
        }
        for (SessionStatus session : status.getSessionsList()) {
            out.printf(
                    "mount     %d  %s  %d open files%s%n",
                    session.getSession(),
                    session.getDescription(),
                    session.getOpenFiles(),
                    lastSeen(session.getSinceRenewalMillis()));
        }
    }

    private String role(MdsMember member) {
        if (member.getId() == status.getLeader()) {
            return "  leader";
        }
        MemberStatus heard = memberStatus(member);
        if (heard == null) {
            return "";
        }
        if (heard.getJoining()) {
            return "  joining, does not vote yet";
        }
        return heard.getHeard()
                ? lastSeen(heard.getSinceHeardMillis())
                : ", NOT SEEN for %.1f s".formatted(heard.getSinceHeardMillis() / 1000.0);
    }

    private static String lastSeen(long millis) {
        return ", last seen %.1f s ago".formatted(millis / 1000.0);
    }

    private @Nullable MemberStatus memberStatus(MdsMember member) {
        return status.getMemberStatusList().stream()
                .filter(m -> m.getId() == member.getId())
                .findFirst()
                .orElse(null);
    }

    private static List<String> warnings(StatusReply status, DiskTable disks) {
        List<String> warnings = new ArrayList<>(status.getWarningsList());
        for (Server server : status.getMap().getServersList()) {
            if (!server.getUp() && !disks.isDrained(server)) {
                warnings.remove("data server %d is down".formatted(server.getId()));
                warnings.add(
                        "data server %d (%s) is down: start it, its replicas are then brought up to date"
                                .formatted(server.getId(), server.getAddress()));
            }
        }
        return warnings.stream().distinct().toList();
    }

    private long usedBytes() {
        return Math.max(0, status.getSpace().getCapacityBytes() - status.getSpace().getFreeBytes());
    }

    /** What is still to be split or merged; empty if nothing is. */
    private static String splitting(Pool pool) {
        int target = ClusterMap.targetOf(pool);
        int more = target - pool.getPgCount();
        return more == 0
                ? ""
                : more > 0
                        ? ", %d more are split off".formatted(more)
                        : ", %d are merged into others".formatted(-more);
    }

    private long placedPgs(Pool pool) {
        return status.getMap().getPgsList().stream()
                .filter(pg -> pg.getPg() >>> 16 == pool.getId())
                .count();
    }

    private List<Object> disks(Server server) {
        List<Object> disks = new ArrayList<>();
        for (Disk disk : status.getMap().getDisksList()) {
            if (disk.getServer() != server.getId()) {
                continue;
            }
            DiskStatus d = diskStatus(server, disk);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("id", disk.getId());
            json.put("data", d.getData());
            json.put("state", this.disks.state(disk).json());
            json.put("out", isOut(d));
            if (isOut(d)) {
                json.put("cause", d.getCause());
                json.put("next_step", d.getNextStep());
            }
            json.put("capacity_bytes", disk.getCapacityBytes());
            json.put("used_bytes", d.getUsedBytes());
            json.put("free_bytes", d.getFreeBytes());
            json.put("wal_used_bytes", d.getWalUsedBytes());
            json.put("wal_capacity_bytes", d.getWalCapacityBytes());
            json.put("replicas", this.disks.load(disk).replicas());
            json.put("in_sync", this.disks.load(disk).inSync());
            disks.add(json);
        }
        return disks;
    }

    private String mark(Disk disk, DiskStatus now) {
        String out = isOut(now) ? "OUT  " : "";
        return switch (disks.state(disk)) {
            case DRAINED, DRAINING, ABSENT, SLOW -> disks.state(disk).text() + "  " + out;
            case AWAY, OUT_OF_SERVICE, UNKNOWN, SERVING -> out;
        };
    }

    private static boolean isOut(DiskStatus disk) {
        return disk.getCondition() == DiskCondition.DISK_OUT;
    }

    private DiskStatus diskStatus(Server server, Disk disk) {
        return serverStatus(server).getDisksList().stream()
                .filter(d -> d.getDisk() == disk.getId())
                .findFirst()
                .orElse(DiskStatus.getDefaultInstance());
    }

    private ServerStatus serverStatus(Server server) {
        return status.getServersList().stream()
                .filter(s -> s.getServer() == server.getId())
                .findFirst()
                .orElse(ServerStatus.getDefaultInstance());
    }

    private List<Object> pgProblems(Server server) {
        List<Object> problems = new ArrayList<>();
        for (PgProblem problem : serverStatus(server).getPgs().getProblemsList()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("pg", Integer.toHexString(problem.getPg()));
            json.put("damaged", problem.getDamaged());
            json.put("since_millis", problem.getSinceMillis());
            json.put("cause", problem.getCause());
            problems.add(json);
        }
        return problems;
    }
}
