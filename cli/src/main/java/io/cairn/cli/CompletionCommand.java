package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.Output;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
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
    @Spec private @Nullable CommandSpec spec;

    @Override
    public ExitCode call() {
        CommandSpec command = Objects.requireNonNull(spec);
        new Output(command.commandLine().getOut())
                .line(AutoComplete.bash("cairn", command.root().commandLine()));
        return ExitCode.SUCCESS;
    }
}
