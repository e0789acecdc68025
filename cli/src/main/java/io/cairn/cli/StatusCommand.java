package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.StatusReport;
import io.cairn.common.config.HostPort;
import io.cairn.common.proto.StatusReply;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "status",
        description = {
            "Show servers, health, capacity, used space and mounts of a cluster.",
            "Ends with exit code 6 when anything is degraded."
        })
final class StatusCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Option(
            names = "--mds",
            paramLabel = "HOST:PORT",
            split = ",",
            description = "MDS members to ask; default: those of the local cluster in --dir.")
    private List<String> mds = List.of();

    @Option(names = "--dir", paramLabel = "DIR", description = "State of a local cluster.")
    private @Nullable Path directory;

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Override
    public ExitCode call() throws IOException {
        List<HostPort> members = members();
        try (AdminClient admin = new AdminClient()) {
            StatusReply status = admin.status(members);
            StatusReport report = StatusReport.of(status);
            PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
            if (options.json()) {
                Map<String, Object> json = report.asMap();
                json.put("metrics_addresses", metricsAddresses());
                new Output(out).json(json);
            } else {
                report.print(out);
                out.flush();
            }
            return report.isDegraded() ? ExitCode.DEGRADED : ExitCode.SUCCESS;
        }
    }

    /** Of a local cluster; others know theirs from their configurations only. */
    private Map<String, String> metricsAddresses() throws IOException {
        Map<String, String> addresses = new LinkedHashMap<>();
        if (mds.isEmpty()) {
            ClusterDirectory.chosen(directory)
                    .metricsAddresses()
                    .forEach((part, address) -> addresses.put(part, address.toString()));
        }
        return addresses;
    }

    private List<HostPort> members() throws IOException {
        if (!mds.isEmpty()) {
            return Addresses.parse(mds);
        }
        ClusterDirectory cluster = ClusterDirectory.chosen(directory);
        List<HostPort> members = cluster.mdsAddresses();
        if (members.isEmpty()) {
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    cluster.path()
                            + ": there is no cluster; start one with 'cairn up MOUNTPOINT', or name"
                            + " its directory with --dir or its servers with --mds");
        }
        return members;
    }
}
