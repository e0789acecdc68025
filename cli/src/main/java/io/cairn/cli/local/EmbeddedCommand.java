package io.cairn.cli.local;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.part.ServerProcess;
import io.cairn.fuse.mount.MountOptions;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Every part of a local cluster in this one process; what {@code cairn up} starts. */
@Command(name = "embedded", hidden = true, description = "Run all parts of a local cluster.")
public final class EmbeddedCommand implements Callable<ExitCode> {
    @Mixin
    @SuppressWarnings("UnusedVariable") // by picocli and Main
    private final GlobalOptions options = new GlobalOptions();

    @Option(names = "--dir", paramLabel = "DIR", required = true, description = "Its state.")
    private @Nullable Path directory;

    @Option(names = "-o", paramLabel = "OPTIONS", description = "Mount options.")
    private String mountOptions = "";

    @Parameters(paramLabel = "MOUNTPOINT", description = "An empty directory.")
    private @Nullable Path mountPoint;

    @Override
    public ExitCode call() throws Exception {
        ClusterDirectory cluster = new ClusterDirectory(Objects.requireNonNull(directory));
        try (ServerProcess process = new ServerProcess()) {
            EmbeddedCluster parts = new EmbeddedCluster(cluster, process);
            parts.startServers();
            parts.mount(
                    Objects.requireNonNull(mountPoint), MountOptions.DEFAULT.with(mountOptions));
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }
}
