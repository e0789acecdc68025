package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.Weights;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReweightReply;
import io.cairn.common.proto.ReweightRequest;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Parameters;

/** Gives a disk, or all disks of a data server, a weight. */
abstract class ReweightCommand extends ClusterCommand {
    @Parameters(
            index = "0",
            paramLabel = "ID",
            description = "A number, as 'cairn disk ls' and 'cairn server ls' show it.")
    private int id;

    @Parameters(
            index = "1",
            paramLabel = "WEIGHT",
            description = {
                "0 to 100, with at most three decimals: 1 for a share by capacity, 0.5 for half of",
                "that, 0 for none."
            })
    private String weight = "";

    final ExitCode reweight(IdsCommand.Kind kind) throws IOException {
        int permille;
        try {
            permille = Weights.permille(weight);
        } catch (IllegalArgumentException e) {
            throw usage(String.valueOf(e.getMessage()));
        }
        ReweightRequest.Builder request = ReweightRequest.newBuilder().setWeightPermille(permille);
        ReweightRequest named =
                (kind == IdsCommand.Kind.DISK ? request.addDisks(id) : request.addServers(id))
                        .build();
        ReweightReply reply;
        try (AdminClient admin = connect()) {
            reply = admin.ask(Method.REWEIGHT, named, ReweightReply.parser());
        } catch (FsException e) {
            throw IdsCommand.failure(e, "; nothing was changed");
        }
        report(reply.getDisksList());
        return ExitCode.SUCCESS;
    }

    private void report(List<DrainedDisk> disks) {
        if (json()) {
            printJson(disks.stream().map(ReweightCommand::asMap).toList());
            return;
        }
        PrintWriter out = out();
        for (DrainedDisk disk : disks) {
            out.println(
                    disk.getChanged()
                            ? "disk %d has weight %s: 'cairn balance --plan' says what moves"
                                    .formatted(disk.getDisk(), weight)
                            : "disk %d had weight %s already".formatted(disk.getDisk(), weight));
        }
        out.flush();
    }

    private static Map<String, Object> asMap(DrainedDisk disk) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", disk.getDisk());
        json.put("changed", disk.getChanged());
        return json;
    }
}
