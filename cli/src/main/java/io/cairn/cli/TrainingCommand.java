package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.local.ServerTraining;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.StatusReport;
import io.cairn.common.proto.StatusReply;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Does what people wait for at each start: the launcher records the run and maps the result at each
 * later one. Either the commands, which need no cluster, as nobody listens on port 1; or servers
 * and a mount of a cluster in a scratch directory.
 */
@Command(name = "training", hidden = true, description = "Used when Cairn is packaged.")
final class TrainingCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Option(names = "--servers", paramLabel = "DIR", description = "An empty directory.")
    private @Nullable Path servers;

    @Option(names = "--seconds", paramLabel = "N", description = "How long servers work.")
    private int seconds = 15;

    @Override
    public ExitCode call() throws Exception {
        if (servers != null) {
            new ServerTraining(servers, Duration.ofSeconds(seconds)).run();
        } else {
            commands();
        }
        return ExitCode.SUCCESS;
    }

    private void commands() {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        CommandLine line = Objects.requireNonNull(spec).root().commandLine();
        line.setOut(nowhere);
        line.setErr(nowhere);
        line.execute("version", "--json");
        line.execute("status", "--help");
        line.execute("status", "--mds", "127.0.0.1:1");
        StatusReport report = StatusReport.of(StatusReply.getDefaultInstance());
        report.print(nowhere);
        new Output(nowhere).json(report.asMap());
    }
}
