package io.cairn.cli.local;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.Progress;
import io.cairn.fuse.mount.MountPoints;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Stops a local cluster: the mount first, then data servers, then MDS members. */
@Command(
        name = "down",
        description = "Unmount and stop the cluster that 'cairn up' started; its data stay.")
public final class DownCommand implements Callable<ExitCode> {
    /** How long a part may take to stop before it is killed. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Spec private @Nullable CommandSpec spec;

    @Option(names = "--dir", paramLabel = "DIR", description = "State of the cluster.")
    private @Nullable Path directory;

    @Override
    public ExitCode call() throws IOException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        ClusterDirectory cluster = ClusterDirectory.chosen(directory);
        if (!cluster.exists()) {
            throw new CommandException(
                    ExitCode.FAILURE,
                    cluster.path() + ": there is no cluster; name its directory with --dir");
        }
        List<Part> running = new ArrayList<>(cluster.running());
        List<String> killed;
        try (Progress progress = Progress.on(out, options.json())) {
            killed = stop(running, progress);
        }
        Optional<Path> removed = removeDeadMount(cluster);
        if (options.json()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("directory", cluster.path().toString());
            json.put("stopped", running.stream().map(Part::name).toList());
            json.put("killed", killed);
            json.put("removed_dead_mount", removed.isPresent());
            new Output(out).json(json);
        } else {
            report(out, cluster, running.size(), removed);
        }
        if (!killed.isEmpty()) {
            throw new CommandException(
                    ExitCode.FAILURE,
                    String.join(", ", killed)
                            + " did not stop within "
                            + PATIENCE.toSeconds()
                            + " s and was killed; no acknowledged data are lost, its log in "
                            + cluster.path()
                            + " says what it waited for");
        }
        return ExitCode.SUCCESS;
    }

    /** Stops parts in the order of {@link PartKind} reversed; returns the names of those killed. */
    static List<String> stop(List<Part> running, Progress progress) throws IOException {
        List<String> killed = new ArrayList<>();
        for (Part part : running.reversed()) {
            progress.show("Stopping " + part.name());
            Optional<ProcessHandle> process = part.process();
            if (process.isPresent() && !end(process.get())) {
                killed.add(part.name());
            }
            Files.deleteIfExists(part.pidFile());
        }
        return killed;
    }

    private static boolean end(ProcessHandle process) {
        process.destroy();
        try {
            process.onExit().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            process.destroyForcibly();
            process.onExit().join();
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void report(
            PrintWriter out, ClusterDirectory cluster, int stopped, Optional<Path> removed) {
        removed.ifPresent(mount -> out.println("Removed the dead mount on " + mount + "."));
        if (stopped == 0) {
            out.println("Nothing runs in " + cluster.path() + ".");
        } else {
            out.printf("Stopped %d process%s.%n", stopped, stopped == 1 ? "" : "es");
        }
        out.flush();
    }

    /** Where one was. */
    private static Optional<Path> removeDeadMount(ClusterDirectory cluster) throws IOException {
        Optional<Path> mountPoint = cluster.mountPoint();
        return mountPoint.isPresent() && MountPoints.removeDead(mountPoint.get())
                ? mountPoint
                : Optional.empty();
    }
}
