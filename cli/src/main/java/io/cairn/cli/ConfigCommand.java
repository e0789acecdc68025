package io.cairn.cli;

import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.cli.part.MountConfig;
import io.cairn.common.config.Config;
import io.cairn.common.config.EffectiveConfig;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.mds.server.MdsConfig;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code cairn config}. */
@Command(
        name = "config",
        description = "Look at configuration files.",
        subcommands = ConfigCommand.Show.class)
final class ConfigCommand extends CommandGroup {
    /** What a file is read as. */
    private enum Kind {
        MDS(MdsConfig.class),
        DATASERVER(DataServerConfig.class),
        MOUNT(MountConfig.class);

        private final Class<? extends Record> type;

        Kind(Class<? extends Record> type) {
            this.type = type;
        }
    }

    /** {@code cairn config show}. */
    @Command(
            name = "show",
            description = {
                "Print a file as the part would read it: every key with the value that counts.",
                "Refuses what the part would refuse, with the same words."
            })
    static final class Show implements Callable<ExitCode> {
        @Spec private @Nullable CommandSpec spec;

        @Mixin private final GlobalOptions options = new GlobalOptions();

        @Parameters(index = "0", paramLabel = "PART", description = "${COMPLETION-CANDIDATES}")
        private Kind kind = Kind.MDS;

        @Parameters(index = "1", paramLabel = "FILE", description = "Its configuration.")
        private Path file = Path.of("");

        @Override
        public ExitCode call() {
            Record config = Config.load(file, kind.type);
            Output out = new Output(Objects.requireNonNull(spec).commandLine().getOut());
            if (options.json()) {
                out.json(EffectiveConfig.json(config));
            } else {
                out.line(EffectiveConfig.toml(config).stripTrailing());
            }
            return ExitCode.SUCCESS;
        }
    }
}
