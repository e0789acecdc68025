package io.cairn.cli;

import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.local.DownCommand;
import io.cairn.cli.local.EmbeddedCommand;
import io.cairn.cli.local.UpCommand;
import io.cairn.cli.output.Output;
import io.cairn.cli.stats.StatsCommand;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
            DiskCommand.class,
            ServerCommand.class,
            PoolCommand.class,
            BalanceCommand.class,
            MigrateCommand.class,
            ScrubCommand.class,
            OrphansCommand.class,
            SessionCommand.class,
            LocksCommand.class,
            InfoCommand.class,
            SetCommand.class,
            CompactCommand.class,
            MountCommand.class,
            UmountCommand.class,
            MdsCommand.class,
            DataServerCommand.class,
            EmbeddedCommand.class,
            StatsCommand.class,
            ConfigCommand.class,
            CompletionCommand.class,
            VersionCommand.class,
            TrainingCommand.class,
            CommandLine.HelpCommand.class
        },
        exitCodeListHeading = "%nExit codes:%n",
        footer = {"", "Start with: cairn up MOUNTPOINT%n"})
public final class Main extends CommandGroup {
    public static void main(String[] args) {
        List<String> given = Arrays.asList(args);
        boolean debug = given.contains("--debug");
        LogSetup.debug(debug);
        System.exit(commandLine(debug, given.contains("--json")).execute(args));
    }

    /**
     * The whole command line, also for other programs than this one; every error is one line on its
     * error writer, or one JSON document there.
     */
    public static CommandLine commandLine(boolean debug, boolean json) {
        CommandLine line = new CommandLine(new Main());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExitCodeExceptionMapper(thrown -> Failures.exitCode(thrown).number());
        line.setParameterExceptionHandler((e, args) -> usageError(e, json));
        line.setExecutionExceptionHandler((e, command, result) -> failure(e, command, debug, json));
        line.setExecutionStrategy(Main::run);
        withHelp(line);
        return line;
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
        addHelpOptions(line);
    }

    private static void addHelpOptions(CommandLine line) {
        addHelpOption(line);
        line.getSubcommands().values().forEach(Main::addHelpOptions);
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

    private static int usageError(CommandLine.ParameterException e, boolean json) {
        CommandLine command = e.getCommandLine();
        boolean unknownCommand =
                e instanceof CommandLine.UnmatchedArgumentException && command.getParent() == null;
        String problem =
                unknownCommand
                        ? "unknown command or option "
                                + ((CommandLine.UnmatchedArgumentException) e).getUnmatched()
                        : String.valueOf(e.getMessage());
        String help = command.getCommandSpec().qualifiedName() + " --help";
        return report(command, problem + "; see: " + help, ExitCode.USAGE, json);
    }

    private static int failure(Exception e, CommandLine command, boolean debug, boolean json) {
        int code = report(command, Failures.message(e), Failures.exitCode(e), json);
        if (debug) {
            e.printStackTrace(command.getErr());
        }
        return code;
    }

    private static int report(CommandLine command, String problem, ExitCode code, boolean json) {
        PrintWriter err = command.getErr();
        if (json) {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("error", problem);
            document.put("exit_code", code.number());
            document.put("meaning", code.meaning());
            new Output(err).json(document);
        } else {
            err.println("cairn: " + problem);
        }
        return code.number();
    }
}
