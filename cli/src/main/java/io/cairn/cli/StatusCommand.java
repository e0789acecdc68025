package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.Pause;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.cli.output.DatabaseReport;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.Progress;
import io.cairn.cli.output.StatusReport;
import io.cairn.common.proto.StatusReply;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
        name = "status",
        description = {
            "Show servers, health, capacity, used space and mounts of a cluster.",
            "Ends with exit code 6 when anything is degraded."
        })
final class StatusCommand extends ClusterCommand {
    private static final String CLEAR = "\033[H\033[2J";

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

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        try (AdminClient admin = connect()) {
            Integer seconds = watchSeconds;
            if (seconds == null) {
                return show(admin, out());
            }
            if (seconds < 1) {
                throw usage("--watch needs at least one second");
            }
            watch(admin, Duration.ofSeconds(seconds));
            return ExitCode.SUCCESS;
        }
    }

    /** Until Ctrl-C, or until whoever read it has gone. */
    private void watch(AdminClient admin, Duration interval)
            throws IOException, InterruptedException {
        PrintWriter out = out();
        boolean terminal = Progress.isTerminal();
        while (!out.checkError()) {
            StringWriter shown = new StringWriter();
            try {
                show(admin, new PrintWriter(shown));
            } catch (CommandException e) {
                shown.append(e.getMessage()).append(System.lineSeparator());
            }
            if (!json()) {
                out.println((terminal ? CLEAR : "") + now());
            }
            out.println(shown);
            Pause.of(interval);
        }
    }

    private static LocalTime now() {
        return LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.SECONDS);
    }

    private ExitCode show(AdminClient admin, PrintWriter out) throws IOException {
        StatusReply status = admin.status();
        StatusReport report = StatusReport.of(status);
        Map<String, Servers.Answer> asked =
                databases ? new Servers(status).databases(admin) : Map.of();
        if (json()) {
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
        Optional<ClusterDirectory> local = local();
        if (local.isPresent()) {
            local.get()
                    .metricsAddresses()
                    .forEach((part, address) -> addresses.put(part, address.toString()));
        }
        return addresses;
    }
}
