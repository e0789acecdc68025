package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.cli.output.DatabaseReport;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.StatusReport;
import io.cairn.common.config.HostPort;
import io.cairn.common.proto.StatusReply;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

@Command(
        name = "status",
        description = {
            "Show servers, health, capacity, used space and mounts of a cluster.",
            "Ends with exit code 6 when anything is degraded."
        })
final class StatusCommand implements Callable<ExitCode> {
    private static final String CLEAR = "\033[H\033[2J";

    @Spec private @Nullable CommandSpec spec;

    @Mixin private final ClusterOptions cluster = new ClusterOptions();

    @Option(
            names = "--watch",
            paramLabel = "SECONDS",
            arity = "0..1",
            fallbackValue = "2",
            description = {
                "Show it again every so many seconds (default: 2) until Ctrl-C,",
                "also while no server answers."
            })
    private @Nullable Integer watchSeconds;

    @Option(
            names = "--databases",
            description = {
                "Also ask every server how many bytes each level of its databases has, and on",
                "which device."
            })
    private boolean databases;

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        CommandSpec command = Objects.requireNonNull(spec);
        PrintWriter out = command.commandLine().getOut();
        List<HostPort> members = cluster.members();
        try (AdminClient admin = new AdminClient()) {
            Integer seconds = watchSeconds;
            if (seconds == null) {
                return show(admin, members, out);
            }
            if (seconds < 1) {
                throw new ParameterException(
                        command.commandLine(), "--watch needs at least one second");
            }
            boolean terminal = System.console() != null && System.console().isTerminal();
            CountDownLatch never = new CountDownLatch(1); // Ctrl-C ends the process
            while (!out.checkError()) { // false once whoever read it has gone
                StringWriter shown = new StringWriter();
                try {
                    show(admin, members, new PrintWriter(shown));
                } catch (CommandException e) {
                    shown.append(e.getMessage()).append(System.lineSeparator());
                }
                if (!options.json()) {
                    out.println((terminal ? CLEAR : "") + now());
                }
                out.println(shown);
                var _ = never.await(seconds, TimeUnit.SECONDS);
            }
            return ExitCode.SUCCESS;
        }
    }

    private static LocalTime now() {
        return LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.SECONDS);
    }

    private ExitCode show(AdminClient admin, List<HostPort> members, PrintWriter out)
            throws IOException {
        StatusReply status = admin.status(members);
        StatusReport report = StatusReport.of(status);
        Map<String, Servers.Answer> asked =
                databases ? new Servers(status).databases(admin) : Map.of();
        if (options.json()) {
            Map<String, Object> json = report.asMap();
            json.put("metrics_addresses", metricsAddresses());
            if (databases) {
                Map<String, Object> parts = new LinkedHashMap<>();
                asked.forEach((part, answer) ->
                        parts.put(
                                part,
                                answer.failure().isEmpty()
                                        ? DatabaseReport.asList(answer.reply())
                                        : Map.of("error", answer.failure())));
                json.put("databases", parts);
            }
            new Output(out).json(json);
        } else {
            report.print(out);
            asked.forEach((part, answer) -> {
                if (answer.failure().isEmpty()) {
                    DatabaseReport.print(part, answer.reply(), out);
                } else {
                    out.printf("database  %s  %s%n", part, answer.failure());
                }
            });
            out.flush();
        }
        return report.isDegraded() ? ExitCode.DEGRADED : ExitCode.SUCCESS;
    }

    /** Of a local cluster; others know theirs from their configurations only. */
    private Map<String, String> metricsAddresses() throws IOException {
        Map<String, String> addresses = new LinkedHashMap<>();
        Optional<ClusterDirectory> local = cluster.local();
        if (local.isPresent()) {
            local.get()
                    .metricsAddresses()
                    .forEach((part, address) -> addresses.put(part, address.toString()));
        }
        return addresses;
    }
}
