package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.mds.server.MdsConfig;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "mds", description = "Run a member of the metadata service.")
final class MdsCommand implements Callable<ExitCode> {
    @Mixin
    @SuppressWarnings("UnusedVariable") // by picocli and Main
    private final GlobalOptions options = new GlobalOptions();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            required = true,
            description = "Configuration; see config/mds.toml.")
    private @Nullable Path config;

    @Override
    public ExitCode call() throws Exception {
        MdsConfig mds = Config.load(Objects.requireNonNull(config), MdsConfig.class);
        try (ServerProcess process = new ServerProcess()) {
            new PartStarter(process).mds(mds);
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }
}
