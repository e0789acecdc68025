package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.cli.part.MountConfig;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.fuse.mount.FuseMount;
import io.cairn.fuse.mount.MountException;
import io.cairn.fuse.mount.MountOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "mount",
        description = {
            "Mount a Cairn file system and serve it until it is unmounted or told to stop.",
            "Stays in the foreground.",
            "With -o remount,...: change options such as ro of the file system mounted there."
        })
final class MountCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Parameters(
            index = "0",
            paramLabel = "MDS[,MDS...][:/PATH]",
            description = {
                "Addresses (HOST:PORT) of metadata servers, one that answers is enough;",
                "and the directory of the file system to mount."
            })
    private String source = "";

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "MOUNTPOINT",
            description = "An empty directory. With remount, it may be the only argument.")
    private @Nullable Path mountPoint;

    @Option(
            names = "-o",
            paramLabel = "OPTIONS",
            split = ",",
            description =
                    "ro, allow_other, subdir=/PATH, binding=native|jnr, entry_timeout=SECONDS and others; see docs/mount.md and man 8 mount.")
    private List<String> mountOptions = List.of();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Configuration; see config/mount.toml.")
    private @Nullable Path config;

    @Override
    public ExitCode call() throws Exception {
        @Nullable Path point = mountPoint;
        if (mountOptions.contains(MountOptions.REMOUNT)) {
            FuseMount.remount(
                    point == null ? Path.of(source) : point, String.join(",", mountOptions));
            return ExitCode.SUCCESS;
        }
        if (point == null) {
            throw new CommandException(ExitCode.USAGE, "Missing required parameter: MOUNTPOINT");
        }
        MountSource from = MountSource.parse(source);
        MountOptions with = parsedOptions(from);
        checkExists(point);
        try (ServerProcess process = new ServerProcess()) {
            new PartStarter(process).mount(configuration(from), point, with);
            if (options.json()) {
                new Output(Objects.requireNonNull(spec).commandLine().getOut())
                        .json(mounted(from, point));
            }
            process.awaitStop();
        }
        return ExitCode.SUCCESS;
    }

    /** Said at once, not when a metadata server has answered. A killed mount's point is neither. */
    private static void checkExists(Path mountPoint) {
        if (Files.notExists(mountPoint)) {
            String text = "mount point " + mountPoint + " does not exist: mkdir -p " + mountPoint;
            throw new CommandException(ExitCode.USAGE, text);
        }
        if (Files.exists(mountPoint) && !Files.isDirectory(mountPoint)) {
            String text = "mount point " + mountPoint + " is not a directory";
            throw new CommandException(ExitCode.USAGE, text);
        }
    }

    /** Printed once the file system is there, for whoever started this command and waits. */
    private static Map<String, Object> mounted(MountSource from, Path mountPoint) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("mount_point", mountPoint.toAbsolutePath().normalize().toString());
        json.put("mds", from.mds().stream().map(HostPort::toString).toList());
        json.put("path", from.path());
        json.put("pid", ProcessHandle.current().pid());
        return json;
    }

    private MountOptions parsedOptions(MountSource from) {
        try {
            return MountOptions.DEFAULT.with(String.join(",", mountOptions)).below(from.path());
        } catch (MountException e) {
            throw new CommandException(ExitCode.USAGE, String.valueOf(e.getMessage()), e);
        }
    }

    /** The file's, or all defaults; the addresses of the command line count in both cases. */
    private MountConfig configuration(MountSource from) throws Exception {
        MountConfig read =
                config == null
                        ? Config.parse("command line", "", MountConfig.class)
                        : Config.load(config, MountConfig.class);
        return read.connectingTo(from.mds());
    }
}
