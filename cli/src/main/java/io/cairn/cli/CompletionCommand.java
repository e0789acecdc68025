package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code cairn completion}. */
@Command(
        name = "completion",
        description = {
            "Print a script that completes commands and options in bash and zsh.",
            "For this shell: source <(cairn completion)"
        })
final class CompletionCommand implements Callable<ExitCode> {
    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Spec private @Nullable CommandSpec spec;

    @Override
    public ExitCode call() {
        CommandSpec command = Objects.requireNonNull(spec);
        Output out = new Output(command.commandLine().getOut());
        String script = AutoComplete.bash("cairn", command.root().commandLine());
        if (options.json()) {
            out.json(Map.of("bash", script));
        } else {
            out.line(script);
        }
        return ExitCode.SUCCESS;
    }
}
