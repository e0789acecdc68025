package io.cairn.cli.output;

import io.cairn.common.map.DiskLoads;
import io.cairn.common.map.DiskLoads.Load;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.StatusReply;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@code cairn disk ls} and {@code cairn server ls} show, as text or as JSON. */
public final class DiskTable {
    private final StatusReply status;
    private final DiskLoads loads;
    private final Map<Integer, Server> servers = new HashMap<>();
    private final Map<Integer, ServerStatus> heard = new HashMap<>();
    private final Map<Integer, DiskStatus> reported = new HashMap<>();

    public DiskTable(StatusReply status) {
        this.status = status;
        this.loads = DiskLoads.of(status.getMap().getPgsList());
        status.getMap().getServersList().forEach(s -> servers.put(s.getId(), s));
        for (ServerStatus server : status.getServersList()) {
            heard.put(server.getServer(), server);
            server.getDisksList().forEach(d -> reported.put(d.getDisk(), d));
        }
    }

    /** What is to be shown of one data server. */
    public static DiskTable ofServer(StatusReply status, int server) {
        StatusReply.Builder only = status.toBuilder();
        only.getMapBuilder()
                .clearServers()
                .addAllServers(
                        status.getMap().getServersList().stream()
                                .filter(s -> s.getId() == server)
                                .toList())
                .clearDisks()
                .addAllDisks(
                        status.getMap().getDisksList().stream()
                                .filter(d -> d.getServer() == server)
                                .toList());
        return new DiskTable(only.build());
    }

    // ---- disks ----------------------------------------------------------------------------------

    /** What it has of the placement groups. */
    Load load(Disk disk) {
        return loads.of(disk.getId());
    }

    DiskState state(Disk disk) {
        if (loads.isDrained(disk)) {
            return DiskState.DRAINED;
        }
        if (disk.getOut()) {
            return DiskState.DRAINING;
        }
        return disk.getAbsent() ? DiskState.ABSENT : condition(disk);
    }

    /** What is the case, whatever is wanted. */
    private DiskState condition(Disk disk) {
        if (!server(disk.getServer()).getUp()) {
            return DiskState.AWAY;
        }
        @Nullable DiskStatus now = reported.get(disk.getId());
        if (now != null) {
            return now.getCondition() == DiskCondition.DISK_OUT
                    ? DiskState.OUT_OF_SERVICE
                    : disk.getSlow() ? DiskState.SLOW : DiskState.SERVING;
        }
        @Nullable ServerStatus server = heard.get(disk.getServer());
        return server == null || server.getDisksCount() == 0
                ? DiskState.UNKNOWN
                : DiskState.OUT_OF_SERVICE;
    }

    /** Why it does not serve, or is slow; else empty. */
    private String cause(Disk disk) {
        DiskStatus now = reported(disk);
        return switch (condition(disk)) {
            case AWAY -> "data server %d is down".formatted(disk.getServer());
            case OUT_OF_SERVICE ->
                    now.getCause().isEmpty()
                            ? "data server %d does not serve it".formatted(disk.getServer())
                            : now.getCause() + "; " + now.getNextStep();
            case UNKNOWN ->
                    "the leader has not heard of data server %d yet".formatted(disk.getServer());
            case SLOW, SERVING ->
                    now.getCause().isEmpty() ? "" : now.getCause() + "; " + now.getNextStep();
            case DRAINED, DRAINING, ABSENT -> "";
        };
    }

    public boolean isAnyOutOfService() {
        return status.getMap().getDisksList().stream()
                .anyMatch(d -> condition(d) == DiskState.OUT_OF_SERVICE);
    }

    public void printDisks(PrintWriter out) {
        String row = "%-6s %-7s %-18s %-5s %-15s %10s %10s %6s %8s %8s %9s  %s%n";
        out.printf(
                row,
                "DISK",
                "SERVER",
                "HOST/RACK",
                "CLASS",
                "STATE",
                "CAPACITY",
                "USED",
                "WEIGHT",
                "REPLICAS",
                "IN SYNC",
                "PRIMARIES",
                "DATA");
        for (Disk disk : status.getMap().getDisksList()) {
            Load load = load(disk);
            out.printf(
                    row,
                    disk.getId(),
                    disk.getServer(),
                    place(server(disk.getServer())),
                    DeviceClassNames.text(disk.getDeviceClass()),
                    state(disk).text(),
                    Sizes.text(disk.getCapacityBytes()),
                    Sizes.text(reported(disk).getUsedBytes()),
                    Weights.text(permille(disk)),
                    load.replicas(),
                    load.inSync(),
                    load.primaries(),
                    reported(disk).getData());
            if (state(disk) == DiskState.DRAINED) {
                out.printf("    no placement group has it: it can be removed%n");
            }
            if (disk.getFill() != Fill.FILL_NORMAL) {
                out.printf(
                        "    it is %s: no further replicas are placed on it%s%n",
                        PoolTable.fill(disk.getFill()),
                        disk.getFill() == Fill.FILL_FULL ? "" : " where other disks can take them");
            }
            if (!cause(disk).isEmpty()) {
                out.printf("    %s%n", cause(disk));
            }
        }
        out.flush();
    }

    private static int permille(Disk disk) {
        return disk.hasWeightPermille() ? disk.getWeightPermille() : 1000;
    }

    public List<Map<String, Object>> disksAsList() {
        List<Map<String, Object>> disks = new ArrayList<>();
        for (Disk disk : status.getMap().getDisksList()) {
            Server server = server(disk.getServer());
            Load load = load(disk);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("id", disk.getId());
            json.put("server", disk.getServer());
            json.put("host", server.getHost());
            json.put("rack", server.getRack());
            json.put("data", reported(disk).getData());
            json.put("device_class", DeviceClassNames.text(disk.getDeviceClass()));
            json.put("state", state(disk).json());
            json.put("cause", cause(disk));
            json.put("can_be_removed", state(disk) == DiskState.DRAINED);
            json.put("capacity_bytes", disk.getCapacityBytes());
            json.put("used_bytes", reported(disk).getUsedBytes());
            json.put("fill", PoolTable.fill(disk.getFill()));
            json.put("weight", permille(disk) / 1000.0);
            json.put("replicas", load.replicas());
            json.put("in_sync", load.inSync());
            json.put("primaries", load.primaries());
            disks.add(json);
        }
        return disks;
    }

    // ---- data servers ---------------------------------------------------------------------------

    /** Whether nothing is missed while it is down. */
    boolean isDrained(Server server) {
        return loads.isServerDrained(server.getId(), status.getMap().getDisksList());
    }

    public void printServers(PrintWriter out) {
        String row = "%-7s %-22s %-18s %-14s %-12s %6s %8s %8s %9s%n";
        out.printf(
                row,
                "SERVER",
                "ADDRESS",
                "HOST/RACK",
                "STATE",
                "RELEASE",
                "DISKS",
                "REPLICAS",
                "IN SYNC",
                "PRIMARIES");
        for (Server server : status.getMap().getServersList()) {
            Load load = load(server);
            out.printf(
                    row,
                    server.getId(),
                    server.getAddress(),
                    place(server),
                    (server.getUp() ? "up" : "DOWN") + (isDrained(server) ? ", drained" : ""),
                    release(server).isEmpty() ? "not known" : release(server),
                    disks(server),
                    load.replicas(),
                    load.inSync(),
                    load.primaries());
        }
        out.flush();
    }

    public List<Map<String, Object>> serversAsList() {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Server server : status.getMap().getServersList()) {
            Load load = load(server);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("id", server.getId());
            json.put("address", server.getAddress());
            json.put("host", server.getHost());
            json.put("rack", server.getRack());
            json.put("up", server.getUp());
            json.put("release", release(server));
            json.put("disks", disks(server));
            json.put("drained", isDrained(server));
            json.put("replicas", load.replicas());
            json.put("in_sync", load.inSync());
            json.put("primaries", load.primaries());
            all.add(json);
        }
        return all;
    }

    private Load load(Server server) {
        return loads.ofServer(server.getId(), status.getMap().getDisksList());
    }

    private long disks(Server server) {
        return status.getMap().getDisksList().stream()
                .filter(d -> d.getServer() == server.getId())
                .count();
    }

    private String release(Server server) {
        return heard.getOrDefault(server.getId(), ServerStatus.getDefaultInstance()).getRelease();
    }

    // ---- both -----------------------------------------------------------------------------------

    private static String place(Server server) {
        String host = server.getHost().isEmpty() ? "-" : server.getHost();
        return server.getRack().isEmpty() ? host : host + "/" + server.getRack();
    }

    private Server server(int id) {
        return servers.getOrDefault(id, Server.getDefaultInstance());
    }

    private DiskStatus reported(Disk disk) {
        return reported.getOrDefault(disk.getId(), DiskStatus.getDefaultInstance());
    }
}
