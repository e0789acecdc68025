package io.cairn.system.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * nfs-ganesha with the configuration of {@code config/ganesha.conf}, and clients of it, in a
 * network, a /run and a space of process ids of their own: nothing of it can be reached from
 * outside, and all of it ends with its first process, which ends when this JVM does. For tests of
 * one thread.
 */
public final class NfsGateway implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String READY = "NFS SERVER INITIALIZED";

    /**
     * Mounts of Cairn are forgotten there, or they could not be unmounted as long as it runs. It
     * has an address that is not the loop's, without which addresses are not even parsed.
     */
    private static final String HOST =
            """
            set -e
            mount --make-rprivate /
            umount -l -a -t fuse.cairn || true
            mount --bind '%1$s/run' /run
            ip link set lo up
            ip addr add 192.0.2.1/32 dev lo
            rpcbind -w -f >'%1$s/rpcbind.log' 2>&1 &
            until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do sleep 0.1; kill -0 $!; done
            echo ready
            exec cat
            """;

    private final Path folder;
    private final Path configuration;
    private final Process host;
    private final long hostPid;
    private final List<NfsClient> clients = new ArrayList<>();
    private @Nullable Process server;
    private int starts;

    /**
     * @param folder new, for configuration and logs
     * @param export what is exported as /cairn
     */
    public NfsGateway(Path folder, Path export) {
        this.folder = folder;
        try {
            Files.createDirectories(folder.resolve("run/rpcbind"));
            Files.createDirectories(folder.resolve("run/ganesha"));
            Files.createDirectories(folder.resolve("recovery"));
            configuration =
                    Files.writeString(folder.resolve("ganesha.conf"), configured(folder, export));
            Process started =
                    start(
                            folder.resolve("host.log"),
                            List.of(
                                    "unshare",
                                    "-n",
                                    "-m",
                                    "-p",
                                    "-f",
                                    "--kill-child",
                                    "bash",
                                    "-c",
                                    HOST.formatted(folder)));
            host = started;
            hostPid = firstProcess(folder.resolve("host.log"), started);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long firstProcess(Path log, Process host) {
        try {
            Awaitility.await("rpcbind runs").atMost(LIMIT).until(() -> said(log, "ready", host));
            return host.children().findFirst().orElseThrow().pid();
        } catch (Throwable e) {
            host.destroyForcibly();
            throw e;
        }
    }

    /** What the tests need that the system does not have; empty where all is there. */
    public static List<String> missing() {
        List<String> missing = new ArrayList<>();
        for (String tool : List.of("ganesha.nfsd", "rpcbind", "rpcinfo", "ip", "python3")) {
            if (Shell.bash("command -v " + tool).exitCode() != 0) {
                missing.add(tool);
            }
        }
        for (String library : List.of("*/ganesha/libfsalvfs.so", "*/libnfs.so.13")) {
            if (Shell.bash("ls /usr/lib/" + library).exitCode() != 0) {
                missing.add(library);
            }
        }
        return missing;
    }

    /**
     * The configuration that is shipped, with the paths of the test and version 3, as its comments
     * say; without a grace period, as nobody here has locks to claim.
     */
    private static String configured(Path folder, Path export) throws IOException {
        String shipped = Files.readString(Cluster.REPOSITORY.resolve("config/ganesha.conf"));
        return replaced(
                replaced(
                        replaced(
                                replaced(shipped, "Protocols = 4;", "Protocols = 3, 4;"),
                                "Path = /mnt/cairn;",
                                "Path = " + export + ";"),
                        "RecoveryRoot = /var/lib/nfs/ganesha;",
                        "RecoveryRoot = " + folder.resolve("recovery") + ";"),
                "Graceless = false;",
                "Graceless = true;");
    }

    private static String replaced(String text, String old, String by) {
        if (!text.contains(old)) {
            throw new AssertionError("config/ganesha.conf has no line '" + old + "'");
        }
        return text.replace(old, by);
    }

    /** Starts ganesha; it serves what is mounted now. */
    public void start() {
        Path log = folder.resolve("ganesha-" + ++starts + ".log");
        // Mounts that are made later are not seen by it, as its own view of them is a copy.
        Process started =
                start(
                        folder.resolve("ganesha.out"),
                        inside(
                                List.of(
                                        "unshare",
                                        "-m",
                                        "--propagation",
                                        "slave",
                                        "bash",
                                        "-c",
                                        "mount --bind '%1$s/run' /run && exec ganesha.nfsd -F -f '%2$s' -L '%3$s' -p '%1$s/pid'"
                                                .formatted(folder, configuration, log))));
        server = started;
        Awaitility.await("ganesha runs").atMost(LIMIT).until(() -> said(log, READY, started));
    }

    /** kill -9 of ganesha; returns when it is gone. */
    public void kill() {
        Process running = server;
        server = null;
        if (running != null) {
            List<ProcessHandle> victims = running.descendants().toList();
            Cluster.kill9(victims);
            Cluster.kill9(List.of(running.toHandle()));
        }
    }

    /** A client, which lives until this is closed. */
    public NfsClient client() {
        NfsClient client =
                new NfsClient(
                        inside(
                                List.of(
                                        "python3",
                                        Cluster.REPOSITORY
                                                .resolve("src/test/resources/nfs.py")
                                                .toString())));
        clients.add(client);
        return client;
    }

    /** The ends of the logs, for failure messages. */
    public String logs() {
        return Shell.bash("tail -n 30 '" + folder + "'/*.log '" + folder + "'/*.out").out();
    }

    /** A command that runs among the processes and in the network of the gateway. */
    private List<String> inside(List<String> command) {
        List<String> whole =
                new ArrayList<>(List.of("nsenter", "-t", "" + hostPid, "-n", "-p", "--"));
        whole.addAll(command);
        return whole;
    }

    /** The process ends at the end of its input, which is that of this JVM at the latest. */
    private static Process start(Path log, List<String> command) {
        try {
            return new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean said(Path log, String words, Process process) throws IOException {
        boolean said = Files.exists(log) && Files.readString(log).contains(words);
        if (!said && !process.isAlive()) {
            throw new AssertionError(
                    "ended with "
                            + process.exitValue()
                            + ": "
                            + Shell.run("tail", "-n", "30", log.toString()).out());
        }
        return said;
    }

    @Override
    public void close() {
        kill();
        clients.forEach(NfsClient::close);
        try (Stream<ProcessHandle> children = host.descendants()) {
            List<ProcessHandle> all = children.toList();
            host.outputWriter().close();
            if (!host.waitFor(10, TimeUnit.SECONDS)) {
                host.destroyForcibly();
            }
            Cluster.kill9(all);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            host.destroyForcibly();
        }
    }
}
