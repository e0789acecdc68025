package io.cairn.cli.local;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.part.MountConfig;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.fuse.mount.MountOptions;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.server.MdsConfig;
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
            PartStarter starter = new PartStarter(process);
            Parts parts = cluster.parts();
            for (Part part : parts.mds()) {
                var _ = starter.mds(Config.load(part.config(), MdsConfig.class), StartWord.NONE);
            }
            for (Part part : parts.data()) {
                var _ =
                        starter.dataServer(
                                part.name(), Config.load(part.config(), DataServerConfig.class));
            }
            MountConfig mount =
                    Config.load(cluster.part(PartKind.MOUNT, 1).config(), MountConfig.class);
            starter.mount(
                    mount,
                    Objects.requireNonNull(mountPoint),
                    MountOptions.DEFAULT.with(mountOptions));
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }
}
