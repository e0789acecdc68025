package io.cairn.cli;

import io.cairn.fuse.mount.FuseMount;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "umount",
        description = "Unmount a Cairn file system, also one whose process was killed.")
final class UmountCommand implements Callable<ExitCode> {
    @Mixin
    @SuppressWarnings("UnusedVariable") // by picocli and Main
    private final GlobalOptions options = new GlobalOptions();

    @Parameters(paramLabel = "MOUNTPOINT", description = "Where it is mounted.")
    private @Nullable Path mountPoint;

    @Override
    public ExitCode call() throws Exception {
        FuseMount.unmount(Objects.requireNonNull(mountPoint));
        return ExitCode.SUCCESS;
    }
}
