package io.cairn.cli.command;

import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that only has others below it: alone it is a usage error. */
public abstract class CommandGroup implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Override
    public final ExitCode call() {
        CommandSpec group = Objects.requireNonNull(spec);
        throw new ParameterException(
                group.commandLine(),
                group.parent() == null
                        ? "a command is missing"
                        : "a command is missing: "
                                + String.join(" or ", group.subcommands().keySet()));
    }
}
