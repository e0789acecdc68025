package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.StatusReport;
import io.cairn.common.proto.StatusReply;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Loads the classes of the commands that people wait for; the launcher records the run and maps the
 * result at each later start. Needs no cluster: nobody listens on port 1.
 */
@Command(name = "training", hidden = true, description = "Used when Cairn is packaged.")
final class TrainingCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Override
    public ExitCode call() {
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
        return ExitCode.SUCCESS;
    }
}
