package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.dataserver.ground.DataServerConfig;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "dataserver", description = "Run a data server.")
final class DataServerCommand implements Callable<ExitCode> {
    @Mixin
    @SuppressWarnings("UnusedVariable") // by picocli and Main
    private final GlobalOptions options = new GlobalOptions();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            required = true,
            description = "Configuration; see config/dataserver.toml.")
    private @Nullable Path config;

    @Override
    public ExitCode call() throws Exception {
        Path file = Objects.requireNonNull(config);
        Supplier<DataServerConfig> source = () -> Config.load(file, DataServerConfig.class);
        DataServerConfig server = source.get();
        try (ServerProcess process = new ServerProcess()) {
            new PartStarter(process).dataServer("data", server, source);
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }
}
