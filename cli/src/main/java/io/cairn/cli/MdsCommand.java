package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.server.MdsConfig;
import io.cairn.mds.server.MdsServer;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

@Command(
        name = "mds",
        description =
                "Run a member of the metadata service; with a command, who the members of a running one"
                        + " are.",
        subcommands = {
            MembersCommand.Ls.class,
            MembersCommand.Add.class,
            MembersCommand.Remove.class,
            MembersCommand.Replace.class,
            MembersCommand.TransferLeader.class
        })
final class MdsCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Mixin
    @SuppressWarnings("UnusedVariable") // by picocli and Main
    private final GlobalOptions options = new GlobalOptions();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Configuration; see config/mds.toml. Needed to run a member.")
    private @Nullable Path config;

    @ArgGroup private @Nullable First first;

    @Option(
            names = "--prepare",
            description =
                    "With --new-cluster or --join: note that in the directory and end; the member is"
                            + " started later without it.")
    private boolean prepare;

    /** What the administrator says of an empty directory. */
    private static final class First {
        @Option(
                names = "--new-cluster",
                description =
                        "The directory may be empty: this is a member of a new cluster. Without"
                                + " effect where it holds a member.")
        private boolean newCluster;

        @Option(
                names = "--join",
                description =
                        "The directory may be empty: this member has lost it, or is to be added by"
                                + " 'cairn mds add', and votes once it has caught up with the others."
                                + " Without effect where it holds a member.")
        private boolean join;
    }

    @Override
    public ExitCode call() throws Exception {
        if (config == null) {
            // Not said to picocli: its commands do not need it.
            throw new ParameterException(
                    Objects.requireNonNull(spec).commandLine(),
                    "Missing required option: '--config=FILE'");
        }
        MdsConfig mds = Config.load(config, MdsConfig.class);
        if (prepare) {
            MdsServer.prepare(mds, word());
            return ExitCode.SUCCESS;
        }
        try (ServerProcess process = new ServerProcess()) {
            new PartStarter(process).mds(mds, word());
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }

    private StartWord word() {
        if (first == null) {
            return StartWord.NONE;
        }
        return first.join ? StartWord.JOIN : StartWord.NEW_CLUSTER;
    }
}
