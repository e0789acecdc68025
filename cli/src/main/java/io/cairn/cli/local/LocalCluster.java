package io.cairn.cli.local;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.Progress;
import io.cairn.cli.part.MountConfig;
import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.fuse.mount.MountPoints;
import io.cairn.mds.server.MdsConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Starts the processes of a local cluster and waits until it can be used. One thread. */
final class LocalCluster {
    private static final Duration START = Duration.ofMinutes(2);
    private static final long POLL_MILLIS = 50;

    private final ClusterDirectory cluster;
    private final Parts parts;
    private final Path mountPoint;
    private final String mountOptions;
    private final boolean separate;
    private final Progress progress;
    private final Launch launch;
    private final List<Started> started = new ArrayList<>();

    private record Started(Part part, Process process) {}

    LocalCluster(
            ClusterDirectory cluster,
            Parts parts,
            Path mountPoint,
            String mountOptions,
            boolean separate,
            Progress progress) {
        this.cluster = cluster;
        this.parts = parts;
        this.mountPoint = mountPoint;
        this.mountOptions = mountOptions;
        this.separate = separate;
        this.progress = progress;
        String launcher = System.getenv("CAIRN_LAUNCHER");
        if (launcher == null) {
            throw new CommandException(
                    ExitCode.CONFIGURATION,
                    "CAIRN_LAUNCHER is not set: use the launcher 'cairn' of the repository");
        }
        this.launch = new Launch(Path.of(launcher));
    }

    /**
     * Returns when the file system is mounted and every server serves; on failure nothing is left
     * running.
     *
     * @return the names of servers that need longer, such as for the recovery of a large log
     */
    List<String> start() throws IOException {
        refuseBusyPorts();
        cluster.rememberMountPoint(mountPoint);
        try {
            if (separate) {
                startServers();
                startMount();
            } else {
                Part part = cluster.part(PartKind.EMBEDDED, 1);
                Files.createDirectories(part.folder());
                run(part, mounting("--dir", cluster.path().toString(), mountPoint.toString()));
            }
            awaitMounted();
            return awaitServing();
        } catch (CommandException | IOException e) {
            stop();
            throw e;
        }
    }

    /**
     * Until the mount ends, by {@code cairn umount} or down, or the process is told to stop: then
     * everything is stopped.
     *
     * @throws CommandException if a part ends otherwise; also then everything is stopped
     */
    void serveUntilStopped() throws IOException {
        Thread bySignal = new Thread(this::stopQuietly, "cairn-up-stop");
        Runtime.getRuntime().addShutdownHook(bySignal);
        Started mount = started.getLast();
        Started ended =
                (Started)
                        CompletableFuture.anyOf(
                                        started.stream()
                                                .map(s -> s.process().onExit().thenApply(p -> s))
                                                .toArray(CompletableFuture[]::new))
                                .join();
        try {
            Runtime.getRuntime().removeShutdownHook(bySignal);
        } catch (IllegalStateException e) {
            return; // told to stop: the hook is stopping the parts
        }
        stop();
        if (ended != mount || ended.process().exitValue() != ExitCode.SUCCESS.number()) {
            throw ended(ended);
        }
    }

    private void stop() throws IOException {
        DownCommand.stop(started.stream().map(Started::part).toList(), progress);
    }

    private void stopQuietly() {
        try {
            stop();
        } catch (IOException e) {
            System.err.println("cairn: stopping failed: " + e.getMessage());
        }
    }

    /** Name and process id of what was started. */
    Map<String, Long> processes() {
        Map<String, Long> pids = new LinkedHashMap<>();
        for (Started s : started) {
            pids.put(s.part().name(), s.process().pid());
        }
        return pids;
    }

    private void startServers() throws IOException {
        for (Part part : parts.mds()) {
            run(part, List.of("--config", part.config().toString()));
        }
        for (Part part : parts.data()) {
            run(part, List.of("--config", part.config().toString()));
        }
    }

    private void startMount() throws IOException {
        Part part = cluster.part(PartKind.MOUNT, 1);
        String source =
                parts.mdsAddresses().stream()
                        .map(HostPort::toString)
                        .collect(Collectors.joining(","));
        run(part, mounting(source, mountPoint.toString(), "--config", part.config().toString()));
    }

    /** With the mount options, if there are any. */
    private List<String> mounting(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        if (!mountOptions.isEmpty()) {
            all.addAll(List.of("-o", mountOptions));
        }
        return all;
    }

    private void run(Part part, List<String> arguments) throws IOException {
        started.add(new Started(part, launch.start(part, arguments)));
    }

    private void awaitMounted() throws IOException {
        long begun = System.nanoTime();
        while (!MountPoints.isMounted(mountPoint)) {
            requireRunning();
            if (System.nanoTime() - begun > START.toNanos()) {
                throw failed(
                        ExitCode.FAILURE,
                        started.getLast().part(),
                        "did not mount within " + START.toSeconds() + " s");
            }
            progress.show("Waiting for the mount, " + seconds(begun) + " s");
            pause();
        }
    }

    /** A part may end, or need long, when the mount is there already: it needs the MDS only. */
    private List<String> awaitServing() {
        if (!separate) {
            requireRunning(); // one process, which has mounted last
            return List.of();
        }
        long begun = System.nanoTime();
        try (Readiness readiness = new Readiness(parts)) {
            while (true) {
                List<String> missing = readiness.missing();
                if (unmounted()) {
                    return List.of();
                }
                requireRunning(); // after asking: who ends before that does not answer
                if (missing.isEmpty() || System.nanoTime() - begun > START.toNanos()) {
                    return missing;
                }
                progress.show(
                        "Waiting for %s, %d s"
                                .formatted(String.join(", ", missing), seconds(begun)));
                pause();
            }
        }
    }

    /** By somebody who did not wait for this: as well as a moment later. */
    private boolean unmounted() {
        Process mount = started.getLast().process();
        return !mount.isAlive() && mount.exitValue() == ExitCode.SUCCESS.number();
    }

    private static long seconds(long sinceNanos) {
        return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - sinceNanos);
    }

    private void requireRunning() {
        for (Started s : started) {
            if (!s.process().isAlive()) {
                throw ended(s);
            }
        }
    }

    /** Between two looks at other processes, for which there is nothing to wait on. */
    private void pause() {
        try {
            if (started.getLast().process().waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                return; // ended: the next look finds out
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException(ExitCode.FAILURE, "interrupted", e);
        }
    }

    private static CommandException ended(Started s) {
        int code = s.process().exitValue();
        return failed(ExitCode.of(code), s.part(), "ended with exit code " + code);
    }

    private static CommandException failed(ExitCode code, Part part, String what) {
        return new CommandException(
                code,
                "%s %s; its log %s ends with: %s"
                        .formatted(part.name(), what, part.log(), part.lastLogLine()));
    }

    private void refuseBusyPorts() throws IOException {
        for (Part part : parts.mds()) {
            MdsConfig config = Config.load(part.config(), MdsConfig.class);
            MdsConfig.Member self = Parts.self(config);
            refuseIfBusy(part, self.address());
            refuseIfBusy(part, self.raftAddress());
            refuseIfBusy(part, config.metricsAddress());
            refuseIfBusy(part, config.jmxAddress());
        }
        for (Part part : parts.data()) {
            DataServerConfig config = Config.load(part.config(), DataServerConfig.class);
            refuseIfBusy(part, config.listen());
            refuseIfBusy(part, config.metricsAddress());
            refuseIfBusy(part, config.jmxAddress());
        }
        Part mount = cluster.part(PartKind.MOUNT, 1);
        MountConfig config = Config.load(mount.config(), MountConfig.class);
        refuseIfBusy(mount, config.metricsAddress());
        refuseIfBusy(mount, config.jmxAddress());
    }

    private static void refuseIfBusy(Part part, Optional<HostPort> address) {
        address.ifPresent(a -> refuseIfBusy(part, a));
    }

    private static void refuseIfBusy(Part part, HostPort address) {
        if (!Ports.isFree(address.port())) {
            throw new CommandException(
                    ExitCode.BUSY,
                    "%s: port %d is in use by another program; stop that, or change the port in %s"
                            .formatted(part.name(), address.port(), part.config()));
        }
    }
}
