package io.cairn.cli.local;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.Progress;
import io.cairn.common.config.ByteSize;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.fuse.mount.MountException;
import io.cairn.fuse.mount.MountOptions;
import io.cairn.fuse.mount.MountPoints;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Makes a local cluster the first time, starts it, mounts it, and says what to do next. */
@Command(
        name = "up",
        description = {
            "Start a cluster on this machine and mount it.",
            "Started again on the same directory it has all its data."
        })
public final class UpCommand implements Callable<ExitCode> {
    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Spec private @Nullable CommandSpec spec;

    @Parameters(
            paramLabel = "MOUNTPOINT",
            description = "An empty directory; it is made if its parent is there.")
    private @Nullable Path mountPoint;

    @Option(
            names = "--dir",
            paramLabel = "DIR",
            description = "State of the cluster (default: $XDG_STATE_HOME/cairn).")
    private @Nullable Path directory;

    @Option(
            names = "--mds",
            paramLabel = "N",
            description =
                    "Metadata servers: 1, 3 or 5 (default 1); more than one implies --processes.")
    private @Nullable Integer mds;

    @Option(names = "--data", paramLabel = "N", description = "Data servers (default 3).")
    private @Nullable Integer data;

    @Option(names = "--processes", description = "One process per part instead of one for all.")
    private boolean processes;

    @Option(
            names = "--join",
            description =
                    "Metadata servers whose directory is empty have lost it: they get everything from"
                            + " the others before they vote.")
    private boolean join;

    @Option(names = "--foreground", description = "Stay, and stop the cluster on Ctrl-C.")
    private boolean foreground;

    @Option(
            names = "--capacity",
            paramLabel = "SIZE",
            description =
                    "Space of each data server (default: its share of 90%% of the free space).")
    private @Nullable String capacity;

    @Option(
            names = "--wal-size",
            paramLabel = "SIZE",
            description =
                    "Write-ahead log of each data server, a multiple of 16MiB (default: "
                            + ClusterPlan.DEFAULT_WAL
                            + ").")
    private @Nullable String walSize;

    @Option(names = "-o", paramLabel = "OPTIONS", description = "Mount options.")
    private String mountOptions = "";

    @Override
    public ExitCode call() throws Exception {
        Path mount = checkedMountPoint();
        ClusterDirectory cluster = ClusterDirectory.chosen(directory);
        refuseIfRunning(cluster);
        boolean cleaned = prepareMountPoint(mount);
        try (ClusterLock _ = ClusterLock.take(cluster)) {
            refuseIfRunning(cluster);
            Parts parts = prepareDirectory(cluster);
            new Members(cluster, parts).prepare(join);
            boolean separate = processes || parts.mds().size() > 1;
            Progress progress = Progress.on(out(), options.json());
            LocalCluster local =
                    new LocalCluster(cluster, parts, mount, mountOptions, separate, progress);
            List<String> late;
            try (progress) {
                late = local.start();
            }
            if (options.json()) {
                json(cluster, mount, cleaned, local.processes(), late);
            } else {
                report(cluster, parts, mount, separate ? local.processes().size() : 1);
                late.forEach(part ->
                        out().printf(
                                        "%s does not serve yet: see 'cairn status' and its log in %s%n",
                                        part, cluster.path()));
                out().flush();
            }
            if (foreground) {
                local.serveUntilStopped();
            }
        }
        return ExitCode.SUCCESS;
    }

    private Path checkedMountPoint() {
        Path mount = Objects.requireNonNull(mountPoint).toAbsolutePath().normalize();
        if (mds != null && mds != 1 && mds != 3 && mds != 5) {
            throw usage("--mds " + mds + ": 1, 3 or 5 metadata servers can be started");
        }
        if (data != null && (data < 1 || data > 64)) {
            throw usage("--data " + data + ": 1 to 64 data servers can be started");
        }
        try {
            var _ = MountOptions.DEFAULT.with(mountOptions);
        } catch (MountException e) {
            throw usage("-o " + mountOptions + ": " + e.getMessage());
        }
        return mount;
    }

    private static void refuseIfRunning(ClusterDirectory cluster) throws IOException {
        List<Part> running = cluster.running();
        if (!running.isEmpty()) {
            Part first = running.getFirst();
            throw new CommandException(
                    ExitCode.BUSY,
                    "%s: a cluster is already running there (%s is process %d%s); stop it with 'cairn down --dir %s'"
                            .formatted(
                                    cluster.path(),
                                    first.name(),
                                    first.process().map(ProcessHandle::pid).orElse(0L),
                                    cluster.mountPoint().map(p -> ", mounted on " + p).orElse(""),
                                    cluster.path()));
        }
    }

    /** True if a dead mount was removed. */
    private boolean prepareMountPoint(Path mount) throws IOException {
        Path parent = mount.getParent();
        if (parent != null && !Files.isDirectory(parent)) {
            throw usage("mount point " + mount + " does not exist: mkdir -p " + mount);
        }
        boolean cleaned = MountPoints.removeDead(mount);
        if (cleaned && !options.json()) {
            out().println("Removed the dead mount on " + mount + ".");
            out().flush();
        }
        if (!Files.exists(mount)) {
            Files.createDirectory(mount);
        } else if (!Files.isDirectory(mount)) {
            throw usage("mount point " + mount + " is not a directory");
        }
        Optional<String> problem =
                MountPoints.problem(mount, MountOptions.DEFAULT.with(mountOptions));
        if (problem.isPresent()) {
            throw new CommandException(ExitCode.BUSY, problem.get());
        }
        return cleaned;
    }

    private Parts prepareDirectory(ClusterDirectory cluster) throws IOException {
        Parts parts = cluster.parts();
        int members = parts.mds().size();
        int servers = parts.data().size();
        if (cluster.laidOut()) {
            DataServerConfig.DiskTable disk = parts.firstDisk();
            if ((mds != null && mds != members)
                    || (data != null && data != servers)
                    || (capacity != null && !disk.capacity().equals(size("--capacity", capacity)))
                    || (walSize != null && !disk.walSize().equals(size("--wal-size", walSize)))) {
                throw usage(
                        "%s holds a cluster of %d MDS and %d data servers of %s with logs of %s; start it without --mds, --data, --capacity and --wal-size, or choose another --dir"
                                .formatted(
                                        cluster.path(),
                                        members,
                                        servers,
                                        disk.capacity(),
                                        disk.walSize()));
            }
            return parts;
        }
        int number = data == null ? 3 : data;
        ByteSize size =
                capacity == null
                        ? ClusterPlan.defaultCapacity(cluster.path(), number)
                        : size("--capacity", capacity);
        ByteSize wal = size("--wal-size", walSize == null ? ClusterPlan.DEFAULT_WAL : walSize);
        if (wal.bytes() < ClusterPlan.MINIMUM_WAL || wal.bytes() % ClusterPlan.WAL_SEGMENT != 0) {
            throw usage("--wal-size " + walSize + ": a multiple of 16MiB, at least 64MiB");
        }
        new ClusterPlan(mds == null ? 1 : mds, number, size, wal).write(cluster);
        return cluster.parts();
    }

    private ByteSize size(String option, String text) {
        try {
            return ByteSize.parse(text);
        } catch (IllegalArgumentException e) {
            throw usage(option + " " + text + ": write a size such as 10GiB");
        }
    }

    private void json(
            ClusterDirectory cluster,
            Path mount,
            boolean cleaned,
            Map<String, Long> processes,
            List<String> late) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("mount_point", mount.toString());
        json.put("directory", cluster.path().toString());
        json.put("removed_dead_mount", cleaned);
        json.put("processes", processes);
        json.put("not_serving_yet", late);
        new Output(out()).json(json);
    }

    private void report(ClusterDirectory cluster, Parts parts, Path mount, int running) {
        PrintWriter out = out();
        int members = parts.mds().size();
        String dir = directory == null ? "" : " --dir " + cluster.path();
        out.printf("Cairn is mounted on %s.%n", mount);
        out.printf(
                "  %d metadata server%s and %d data server%s run in %s.%n",
                members,
                plural(members),
                parts.data().size(),
                plural(parts.data().size()),
                running == 1 ? "one process" : running + " processes");
        out.printf("  Data, configuration and logs: %s%n", cluster.path());
        out.printf("Try next:%n");
        out.printf("  cp -r ~/project %s/%n", mount);
        out.printf("  cairn status%s%n", dir);
        out.printf("  cairn down%s        (all data stay)%n", dir);
        out.flush();
    }

    private static String plural(int number) {
        return number == 1 ? "" : "s";
    }

    private PrintWriter out() {
        return Objects.requireNonNull(spec).commandLine().getOut();
    }

    private ParameterException usage(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
