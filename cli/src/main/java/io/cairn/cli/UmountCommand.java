package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.fuse.mount.FuseMount;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "umount",
        description = "Unmount a Cairn file system, also one whose process was killed.")
final class UmountCommand implements Callable<ExitCode> {
    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Spec private @Nullable CommandSpec spec;

    @Parameters(paramLabel = "MOUNTPOINT", description = "Where it is mounted.")
    private @Nullable Path mountPoint;

    @Override
    public ExitCode call() throws Exception {
        Path mount = Objects.requireNonNull(mountPoint);
        FuseMount.unmount(mount);
        if (options.json()) {
            new Output(Objects.requireNonNull(spec).commandLine().getOut())
                    .json(Map.of("unmounted", mount.toString()));
        }
        return ExitCode.SUCCESS;
    }
}
