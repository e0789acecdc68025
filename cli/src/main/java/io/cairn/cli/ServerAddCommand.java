package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.DiskTable;
import io.cairn.common.config.HostPort;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn server add ADDRESS}. */
@Command(
        name = "add",
        description = {
            "Wait until a data server that is being started belongs to the cluster, and show it and its",
            "disks. It registers by itself, and its disks get their share of the placement groups by",
            "themselves. Exit code 0: all of them serve; 1: not all do; 4: it has not come in time."
        })
final class ServerAddCommand extends ClusterCommand {
    private static final Duration LOOK_AGAIN = Duration.ofMillis(500);

    @Parameters(
            paramLabel = "ADDRESS",
            description = "Its address (HOST:PORT): 'advertise' of its configuration, or 'listen'.")
    private String address = "";

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description = "How long to wait, 0 to 86400 (default: ${DEFAULT-VALUE}).")
    private int timeout;

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        if (timeout < 0 || timeout > 86_400) {
            throw usage("--timeout: 0 to 86400 s, and not " + timeout);
        }
        HostPort wanted = Addresses.parse(List.of(address)).getFirst();
        DiskTable table;
        try (AdminClient admin = connect()) {
            table = await(admin, wanted.toString());
        }
        if (json()) {
            Map<String, Object> added = new LinkedHashMap<>();
            added.put("server", table.serversAsList().getFirst());
            added.put("disks", table.disksAsList());
            printJson(added);
        } else {
            table.printServers(out());
            out().println();
            table.printDisks(out());
        }
        return table.isAnyOutOfService() ? ExitCode.FAILURE : ExitCode.SUCCESS;
    }

    private DiskTable await(AdminClient admin, String wanted) throws InterruptedException {
        long end = System.nanoTime() + Duration.ofSeconds(timeout).toNanos();
        return await(
                LOOK_AGAIN,
                progress -> {
                    StatusReply status = admin.status();
                    Optional<Server> server = up(status, wanted);
                    if (server.isPresent() && isHeard(status, server.get())) {
                        return DiskTable.ofServer(status, server.get().getId());
                    }
                    if (System.nanoTime() - end >= 0) {
                        throw new CommandException(
                                ExitCode.UNREACHABLE,
                                "no data server %s has come within %d s: start it with 'cairn dataserver --config FILE'; if it runs, its log says what it waits for"
                                        .formatted(wanted, timeout));
                    }
                    progress.show("data server %s has not registered yet".formatted(wanted));
                    return null;
                });
    }

    private static Optional<Server> up(StatusReply status, String address) {
        return status.getMap().getServersList().stream()
                .filter(s -> s.getUp() && s.getAddress().equals(address))
                .findFirst();
    }

    /** Whether the leader knows what becomes of its disks. */
    private static boolean isHeard(StatusReply status, Server server) {
        return status.getServersList().stream()
                .anyMatch(s -> s.getServer() == server.getId() && s.getDisksCount() > 0);
    }
}
