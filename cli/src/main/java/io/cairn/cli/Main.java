package io.cairn.cli;

import io.cairn.cli.local.DownCommand;
import io.cairn.cli.local.EmbeddedCommand;
import io.cairn.cli.local.UpCommand;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Entry point: parses the command line, runs one command and exits with its {@link ExitCode}. */
@Command(
        name = "cairn",
        description = "A shared POSIX file system.",
        synopsisSubcommandLabel = "COMMAND",
        mixinStandardHelpOptions = false,
        subcommands = {
            UpCommand.class,
            DownCommand.class,
            StatusCommand.class,
            MountCommand.class,
            UmountCommand.class,
            MdsCommand.class,
            DataServerCommand.class,
            EmbeddedCommand.class,
            VersionCommand.class,
            TrainingCommand.class,
            CommandLine.HelpCommand.class
        },
        exitCodeListHeading = "%nExit codes:%n",
        footer = {"", "Start with: cairn up MOUNTPOINT%n"})
public final class Main implements Callable<ExitCode> {
    @CommandLine.Spec private CommandLine.Model.@Nullable CommandSpec spec;

    public static void main(String[] args) {
        boolean debug = Arrays.asList(args).contains("--debug");
        LogSetup.debug(debug);
        System.exit(commandLine(debug).execute(args));
    }

    /** The whole command line; every error is one line on its error writer. */
    static CommandLine commandLine(boolean debug) {
        CommandLine line = new CommandLine(new Main());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExitCodeExceptionMapper(thrown -> Failures.exitCode(thrown).number());
        line.setParameterExceptionHandler((e, args) -> usageError(e));
        line.setExecutionExceptionHandler((e, command, result) -> failure(e, command, debug));
        line.setExecutionStrategy(Main::run);
        withHelp(line);
        return line;
    }

    @Override
    public ExitCode call() {
        throw new CommandLine.ParameterException(
                Objects.requireNonNull(spec).commandLine(), "a command is missing");
    }

    private static int run(CommandLine.ParseResult parsed) {
        int result = new CommandLine.RunLast().execute(parsed);
        CommandLine.ParseResult last = parsed;
        while (last.hasSubcommand()) {
            last = last.subcommand();
        }
        Object returned = last.commandSpec().commandLine().getExecutionResult();
        return returned instanceof ExitCode code ? code.number() : result;
    }

    private static void withHelp(CommandLine line) {
        Map<String, String> exitCodes = new LinkedHashMap<>();
        for (ExitCode code : ExitCode.values()) {
            exitCodes.put(Integer.toString(code.number()), code.meaning());
        }
        line.getCommandSpec().usageMessage().exitCodeList(exitCodes);
        addHelpOption(line);
        line.getSubcommands().values().forEach(Main::addHelpOption);
    }

    private static void addHelpOption(CommandLine line) {
        if (line.getCommandSpec().findOption("--help") == null) {
            line.getCommandSpec()
                    .addOption(
                            CommandLine.Model.OptionSpec.builder("-h", "--help")
                                    .usageHelp(true)
                                    .description("Show this help.")
                                    .build());
        }
    }

    private static int usageError(CommandLine.ParameterException e) {
        CommandLine command = e.getCommandLine();
        PrintWriter err = command.getErr();
        boolean unknownCommand =
                e instanceof CommandLine.UnmatchedArgumentException && command.getParent() == null;
        String problem =
                unknownCommand
                        ? "unknown command or option "
                                + ((CommandLine.UnmatchedArgumentException) e).getUnmatched()
                        : String.valueOf(e.getMessage());
        err.println(
                "cairn: "
                        + problem
                        + "; see: "
                        + command.getCommandSpec().qualifiedName()
                        + " --help");
        return ExitCode.USAGE.number();
    }

    private static int failure(Exception e, CommandLine command, boolean debug) {
        PrintWriter err = command.getErr();
        err.println("cairn: " + Failures.message(e));
        if (debug) {
            e.printStackTrace(err);
        }
        return Failures.exitCode(e).number();
    }
}
