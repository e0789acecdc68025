package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.ScrubResult;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.ScrubProgressReply;
import io.cairn.common.proto.ScrubProgressRequest;
import io.cairn.common.proto.ScrubReply;
import io.cairn.common.proto.ScrubRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn scrub}. */
@Command(
        name = "scrub",
        description = {
            "Look through placement groups for damage now, whatever the schedule: whether all replicas",
            "have the same chunks, and with --deep whether every block can be read and is as it was",
            "written. Damaged blocks are repaired from other replicas; nothing else is changed.",
            "Clients are served meanwhile. Ctrl-C ends only the showing of progress.",
            "Ends with exit code 6 when damage was found, also if it is repaired."
        })
final class ScrubCommand extends ClusterCommand {
    private static final Duration LOOK_AGAIN = Duration.ofMillis(500);

    @Parameters(
            paramLabel = "PG",
            arity = "0..*",
            description = "Placement groups, by their numbers in 'cairn status', such as 10003.")
    private List<String> pgs = List.of();

    @Option(names = "--all", description = "All placement groups.")
    private boolean all;

    @Option(names = "--deep", description = "Also read and verify every block of every replica.")
    private boolean deep;

    /** What one data server is asked, and how far it is. */
    private static final class Part {
        private final InetSocketAddress address;
        private final ScrubRequest.Builder request;
        private long run;
        private ScrubProgressReply progress = ScrubProgressReply.getDefaultInstance();

        Part(InetSocketAddress address, boolean deep) {
            this.address = address;
            request = ScrubRequest.newBuilder().setDeep(deep);
        }
    }

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        if (all == !pgs.isEmpty()) {
            throw usage("name placement groups, or give --all");
        }
        List<String> notBegun = new ArrayList<>();
        ScrubResult result;
        try (AdminClient admin = connect()) {
            Map<Integer, Part> parts = parts(admin.status().getMap(), notBegun);
            for (Part part : parts.values()) {
                begin(admin, part, notBegun);
            }
            result = awaitEnd(admin, parts.values().stream().toList(), notBegun);
        }
        if (json()) {
            printJson(result.asMap());
        } else {
            result.print(out());
        }
        if (!result.isComplete()) {
            return ExitCode.FAILURE;
        }
        return result.isClean() ? ExitCode.SUCCESS : ExitCode.DEGRADED;
    }

    // ---- who is asked ---------------------------------------------------------------------------

    private Map<Integer, Part> parts(MapUpdate map, List<String> notBegun) {
        Map<Integer, Integer> serverOfDisk = new HashMap<>();
        for (Disk disk : map.getDisksList()) {
            serverOfDisk.put(disk.getId(), disk.getServer());
        }
        Map<Integer, Server> servers = new HashMap<>();
        map.getServersList().forEach(s -> servers.put(s.getId(), s));
        Map<Integer, Part> parts = new LinkedHashMap<>();
        for (PlacementGroup group : chosen(map)) {
            int id = serverOfDisk.getOrDefault(ClusterMap.primaryOf(group), 0);
            Server server = servers.get(id);
            if (server == null || !server.getUp()) {
                notBegun.add(
                        "placement group %x: its primary is not there".formatted(group.getPg()));
            } else {
                parts.computeIfAbsent(
                                id, _ -> new Part(RpcAddress.parse(server.getAddress()), deep))
                        .request
                        .addPgs(group.getPg());
            }
        }
        return parts;
    }

    private List<PlacementGroup> chosen(MapUpdate map) {
        if (all) {
            return map.getPgsList();
        }
        Map<Integer, PlacementGroup> groups = new TreeMap<>();
        map.getPgsList().forEach(g -> groups.put(g.getPg(), g));
        List<PlacementGroup> chosen = new ArrayList<>();
        for (String text : pgs) {
            PlacementGroup group = groups.get(number(text));
            if (group == null) {
                throw usage("there is no placement group " + text);
            }
            if (!chosen.contains(group)) {
                chosen.add(group);
            }
        }
        return chosen;
    }

    private int number(String text) {
        try {
            return Integer.parseUnsignedInt(text, 16);
        } catch (NumberFormatException e) {
            throw usage("'" + text + "' is no number of a placement group");
        }
    }

    // ---- asking ---------------------------------------------------------------------------------

    private static void begin(AdminClient admin, Part part, List<String> notBegun) {
        List<Integer> asked = part.request.getPgsList();
        List<Integer> begun = List.of();
        String why = "another disk has become its primary: try again";
        try {
            ScrubReply reply =
                    admin.callServer(
                            part.address, Method.SCRUB, part.request.build(), ScrubReply.parser());
            part.run = reply.getRun();
            begun = reply.getPgsList();
        } catch (CommandException e) {
            why = String.valueOf(e.getMessage());
        }
        for (int pg : asked) {
            if (!begun.contains(pg)) {
                notBegun.add("placement group %x: %s".formatted(pg, why));
            }
        }
    }

    private ScrubResult awaitEnd(AdminClient admin, List<Part> parts, List<String> notBegun)
            throws InterruptedException {
        return await(
                LOOK_AGAIN,
                progress -> {
                    boolean waiting = false;
                    for (Part part : parts) {
                        if (part.run != 0) {
                            look(admin, part, notBegun);
                            waiting |= part.run != 0 && part.progress.getWaiting() > 0;
                        }
                    }
                    ScrubResult result =
                            new ScrubResult(
                                    deep, parts.stream().map(p -> p.progress).toList(), notBegun);
                    progress.show(result.progress());
                    return waiting ? null : result;
                });
    }

    private static void look(AdminClient admin, Part part, List<String> notBegun) {
        String lost = "the data server was restarted before they were scrubbed";
        try {
            ScrubProgressReply now =
                    admin.callServer(
                            part.address,
                            Method.SCRUB_PROGRESS,
                            ScrubProgressRequest.newBuilder().setRun(part.run).build(),
                            ScrubProgressReply.parser());
            if (now.getKnown()) {
                part.progress = now;
                return;
            }
        } catch (CommandException e) {
            lost = String.valueOf(e.getMessage());
        }
        int left = Math.max(part.progress.getWaiting(), 1);
        notBegun.add("%d placement groups: %s".formatted(left, lost));
        part.progress = part.progress.toBuilder().setWaiting(0).build();
        part.run = 0;
    }
}
