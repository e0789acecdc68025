package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.Pause;
import io.cairn.cli.output.Progress;
import io.cairn.cli.output.Sizes;
import io.cairn.common.proto.AddDisksReply;
import io.cairn.common.proto.AddDisksRequest;
import io.cairn.common.proto.AddedDisk;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code cairn disk add SERVER}. */
@Command(
        name = "add",
        description = {
            "Have a data server read its configuration again, and open or make the disks that are new",
            "there, while it serves. They get their share of the placement groups by themselves. Other",
            "changes of the configuration wait for a restart. Ctrl-C ends only the waiting."
        })
final class DiskAddCommand extends ClusterCommand {
    private static final Duration LOOK_AGAIN = Duration.ofMillis(200);

    @Parameters(
            paramLabel = "SERVER",
            description = "Number of the data server, as 'cairn server ls' shows it.")
    private int server;

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        AddDisksReply reply;
        try (AdminClient admin = connect()) {
            InetSocketAddress address = new Servers(admin.status()).of("data-" + server);
            reply = ask(admin, address, true);
            try (Progress progress = progress()) {
                while (reply.getRunning()) {
                    progress.show("data server %d opens disks".formatted(server));
                    Pause.of(LOOK_AGAIN);
                    reply = ask(admin, address, false);
                }
            }
        }
        if (!reply.getFailure().isEmpty()) {
            throw new CommandException(
                    ExitCode.CONFIGURATION,
                    "data server %d: %s; nothing was changed"
                            .formatted(server, reply.getFailure()));
        }
        if (json()) {
            printJson(reply.getDisksList().stream().map(DiskAddCommand::asMap).toList());
        } else {
            print(reply.getDisksList());
        }
        return reply.getDisksList().stream().allMatch(d -> d.getFailure().isEmpty())
                ? ExitCode.SUCCESS
                : ExitCode.FAILURE;
    }

    private static AddDisksReply ask(AdminClient admin, InetSocketAddress server, boolean begin) {
        return admin.callServer(
                server,
                Method.ADD_DISKS,
                AddDisksRequest.newBuilder().setBegin(begin).build(),
                AddDisksReply.parser());
    }

    private void print(List<AddedDisk> disks) {
        PrintWriter out = out();
        if (disks.isEmpty()) {
            out.printf(
                    "the configuration of data server %d has no new disk: give it a [[disk]] first%n",
                    server);
        }
        for (AddedDisk disk : disks) {
            if (disk.getFailure().isEmpty()) {
                out.printf(
                        "disk %d: %s, %s%n",
                        disk.getDisk(), disk.getData(), Sizes.text(disk.getCapacityBytes()));
            } else {
                out.printf("%s does not serve: %s%n", disk.getData(), disk.getFailure());
            }
        }
        out.flush();
    }

    private static Map<String, Object> asMap(AddedDisk disk) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("data", disk.getData());
        json.put("id", disk.getDisk());
        json.put("capacity_bytes", disk.getCapacityBytes());
        json.put("failure", disk.getFailure());
        return json;
    }
}
