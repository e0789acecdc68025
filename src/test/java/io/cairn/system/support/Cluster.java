package io.cairn.system.support;

import io.cairn.cli.Main;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A cluster made with {@code cairn up} below a directory of its own, as a user makes one. Closing
 * it stops it and removes everything.
 */
public final class Cluster implements AutoCloseable {
    /** Exit code of {@code cairn status} while something is missing. */
    public static final int DEGRADED = 6;

    /** Exit code of commands that had no answer in time. */
    static final int UNREACHABLE = 4;

    static final int STATUS_ATTEMPTS = 3;

    /** The repository's top: the launcher lies there. */
    public static final Path REPOSITORY = repository();

    /** Of every mount of the tests that does not say otherwise: native or jnr. */
    public static final String BINDING = System.getProperty("cairn.test.binding", "native");

    /** A follower of which the leader has not heard for longer is missed. */
    private static final long SILENT_MILLIS = 3000;

    /** A member in the configuration of a metadata server. */
    private static final Pattern PORT =
            Pattern.compile(
                    "id = (?<member>\\d+)\\s+address = \"127.0.0.1:(?<address>\\d+)\"\\s+"
                            + "raft_address = \"127.0.0.1:(?<raft>\\d+)\"");

    private final Path base;
    private final Path state;
    private final Path mountPoint;
    private final List<String> upOptions;
    private final Map<String, String> environment = new HashMap<>();
    private final List<Mount> mounts = new ArrayList<>();
    private @Nullable VirtualNetwork network;
    private String source = ""; // what is asked for once stays

    /**
     * @param state directory for the cluster's state; made if missing, not removed
     * @param upOptions of {@code cairn up}, besides the mount point and the directory
     */
    public Cluster(Path base, Path state, String... upOptions) {
        this.base = base;
        this.state = state;
        this.mountPoint = base.resolve("mnt");
        this.upOptions = List.of(upOptions);
        try {
            Files.createDirectories(mountPoint);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A cluster with all of its state in a new temporary directory. */
    public static Cluster temporary(String... upOptions) {
        try {
            Path base = Files.createTempDirectory("cairn-it");
            return new Cluster(base, base.resolve("state"), upOptions);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Path base() {
        return base;
    }

    public Path state() {
        return state;
    }

    /** The mount point. */
    public Path mnt() {
        return mountPoint;
    }

    /**
     * Makes a directory in the file system.
     *
     * @param name one that no other test of this cluster uses
     */
    public Path work(String name) {
        try {
            return Files.createDirectory(mountPoint.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns when the servers have all that was done to names in the directory. */
    public static void sync(Path directory) throws IOException {
        try (FileChannel open = FileChannel.open(directory, StandardOpenOption.READ)) {
            open.force(true);
        }
    }

    /** For a server that is to be known by its address before it listens. */
    public static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    public static Shell.Result cairn(String... arguments) {
        return cairn(List.of(arguments));
    }

    public static Shell.Result cairn(List<String> arguments) {
        return cairn(arguments, Map.of());
    }

    private static Shell.Result cairn(List<String> arguments, Map<String, String> environment) {
        List<String> command = new ArrayList<>();
        command.add(REPOSITORY.resolve("cairn").toString());
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        return Shell.run(builder, Duration.ofMinutes(3));
    }

    /** Sets a variable in the environment of every server that is started from now on. */
    public void environment(String name, String value) {
        environment.put(name, value);
    }

    public Cluster up() {
        tryUp().ok();
        return this;
    }

    /** Writes the configuration of a new cluster as {@link #up} does, and starts nothing. */
    public Cluster layOut() {
        Path inTheWay = state.resolve("mds-1/state");
        try {
            Files.createDirectories(inTheWay.getParent());
            Files.createFile(inTheWay);
            Shell.Result refused = tryUp();
            if (refused.exitCode() == 0 || parts().stream().noneMatch(p -> p.startsWith("data"))) {
                throw new AssertionError("not laid out only: " + refused);
            }
            Files.delete(inTheWay);
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Shell.Result tryUp() {
        List<String> arguments =
                new ArrayList<>(List.of("up", mountPoint.toString(), "--dir", state.toString()));
        arguments.addAll(bound(upOptions));
        Shell.Result result = cairn(arguments, environment);
        if (result.exitCode() != 0) {
            return new Shell.Result(result.exitCode(), result.out(), result.err() + logs());
        }
        return result;
    }

    /** Options of {@code cairn up} or {@code cairn mount}, with the binding if they have none. */
    static List<String> bound(List<String> options) {
        List<String> all = new ArrayList<>(options);
        int mountOptions = all.indexOf("-o") + 1;
        if (mountOptions == 0) {
            all.addAll(List.of("-o", "binding=" + BINDING));
        } else if (!all.get(mountOptions).contains("binding=")) {
            all.set(mountOptions, "binding=" + BINDING + "," + all.get(mountOptions));
        }
        return all;
    }

    public void down() {
        cairn("down", "--dir", state.toString()).ok();
    }

    /**
     * What {@code cairn status --json} says; asked within this process, since tests that wait ask
     * again and again, and each JVM costs half a second of a core.
     */
    public JsonNode status() {
        Shell.Result said =
                patiently(() -> {
                    StringWriter out = new StringWriter();
                    StringWriter err = new StringWriter();
                    int exitCode =
                            Main.commandLine(false, true)
                                    .setOut(new PrintWriter(out, true))
                                    .setErr(new PrintWriter(err, true))
                                    .execute("status", "--json", "--dir", state.toString());
                    return new Shell.Result(exitCode, out.toString(), err.toString());
                });
        if (said.exitCode() != 0 && said.exitCode() != DEGRADED) {
            throw new AssertionError("not what cairn status should end with: " + said);
        }
        return JsonMapper.shared().readTree(said.out());
    }

    /** Runs {@code cairn status}, for tests of its exit code or of what it says to people. */
    public Shell.Result statusCommand(String... options) {
        List<String> command = new ArrayList<>(List.of("status", "--dir", state.toString()));
        command.addAll(List.of(options));
        return patiently(() -> cairn(command));
    }

    /** Up to three times while there is no answer: the servers of a busy machine may be late. */
    private static Shell.Result patiently(Supplier<Shell.Result> status) {
        Shell.Result result = status.get();
        for (int more = 1; more < STATUS_ATTEMPTS && result.exitCode() == UNREACHABLE; more++) {
            result = status.get();
        }
        return result;
    }

    /**
     * Whether every metadata server follows the leader, and every placement group has all of its
     * replicas. Fails the test while nobody leads.
     */
    public boolean isWhole() {
        return isWhole(status());
    }

    /** Likewise of what {@code cairn status --json} has said. */
    static boolean isWhole(JsonNode status) {
        return status.path("mds").valueStream().allMatch(Cluster::follows)
                && status.at("/pgs/degraded").asInt(-1) == 0
                && status.at("/pgs/active").asInt() > 0;
    }

    private static boolean follows(JsonNode member) {
        return member.path("leader").asBoolean()
                || (member.path("heard").asBoolean()
                        && member.path("since_heard_millis").asLong() < SILENT_MILLIS
                        && !member.path("joining").asBoolean());
    }

    /** Addresses of all metadata servers, with commas between them, as a mount is given them. */
    String source() {
        if (source.isEmpty()) {
            source =
                    status().path("mds")
                            .valueStream()
                            .map(m -> m.path("address").asString())
                            .collect(Collectors.joining(","));
        }
        return source;
    }

    /** Address of a metadata server, as clients are given it. */
    public String mds() {
        return source().split(",")[0];
    }

    /**
     * A further mount of this cluster; what is not closed before the cluster is, is killed then.
     *
     * @param name of the mount point, new below {@link #base}
     * @param options of {@code cairn mount}
     */
    public Mount mount(String name, String... options) {
        Mount mount = new Mount(this, name, options);
        mounts.add(mount);
        return mount;
    }

    /** Processes of all parts, by their pid files. */
    public List<ProcessHandle> processes() {
        return parts().stream().flatMap(p -> process(p).stream()).toList();
    }

    public Optional<ProcessHandle> process(String part) {
        try {
            Path pid = state.resolve(part).resolve("pid");
            if (!Files.exists(pid)) {
                return Optional.empty();
            }
            return ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
                    .filter(ProcessHandle::isAlive)
                    .filter(this::isOurs);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A pid of a pid file may be another program's by now; ours have our directory as argument. */
    private boolean isOurs(ProcessHandle process) {
        try {
            Path commandLine = Path.of("/proc", "" + process.pid(), "cmdline");
            return Files.readString(commandLine, StandardCharsets.ISO_8859_1)
                    .contains(state.toString());
        } catch (IOException e) {
            return false; // ended meanwhile
        }
    }

    /**
     * Makes each part of a cluster that was laid out, and each mount from now on, a host of the
     * network.
     */
    public void join(VirtualNetwork hosts) {
        network = hosts;
        Map<String, String> hostOfPort = new HashMap<>();
        for (String part : parts()) {
            hosts.add(part);
            if (part.startsWith("mds-")) {
                Matcher ports = PORT.matcher(config(part));
                while (ports.find()) {
                    if (part.equals("mds-" + ports.group("member"))) {
                        hostOfPort.put(ports.group("address"), hosts.address(part));
                        hostOfPort.put(ports.group("raft"), hosts.address(part));
                    }
                }
            }
        }
        for (String part : parts()) {
            String own = hosts.address(part);
            configure(
                    part,
                    c ->
                            Pattern.compile("127\\.0\\.0\\.1:(\\d+)")
                                    .matcher(c)
                                    .replaceAll(m ->
                                            hostOfPort.getOrDefault(m.group(1), own)
                                                    + ":"
                                                    + m.group(1)));
        }
    }

    /** What a command of this host begins with, so that it runs there; empty without a network. */
    List<String> inside(String host) {
        return network == null ? List.of() : network.inside(host);
    }

    /**
     * Starts one part of a cluster of separate processes again, as {@code up} does.
     *
     * @param options of its command, besides its configuration
     */
    public void start(String part, String role, String... options) {
        Path folder = state.resolve(part);
        List<String> command = new ArrayList<>(inside(part));
        command.addAll(List.of("setsid", REPOSITORY.resolve("cairn").toString(), role));
        command.addAll(List.of("--config", folder.resolve("config.toml").toString()));
        command.addAll(List.of(options));
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command)
                            .directory(folder.toFile())
                            .redirectInput(Path.of("/dev/null").toFile())
                            .redirectOutput(
                                    ProcessBuilder.Redirect.appendTo(
                                            folder.resolve("log").toFile()))
                            .redirectErrorStream(true);
            builder.environment().putAll(environment);
            Process process = builder.start();
            Files.writeString(folder.resolve("pid"), process.pid() + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Changes a part's configuration; it counts from its next start. */
    public void configure(String part, UnaryOperator<String> change) {
        try {
            Files.writeString(configFile(part), change.apply(config(part)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String config(String part) {
        try {
            return Files.readString(configFile(part));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path configFile(String part) {
        return state.resolve(part).resolve("config.toml");
    }

    /** kill -9 of everything at once; returns when all are gone. */
    public void kill9() {
        List<ProcessHandle> victims = processes();
        if (victims.isEmpty()) {
            throw new AssertionError("nothing to kill in " + state);
        }
        kill9(victims);
    }

    /** kill -9 of those that have not ended by themselves; returns when all are gone. */
    public static void kill9(List<ProcessHandle> victims) {
        victims.forEach(ProcessHandle::destroyForcibly);
        victims.forEach(Cluster::awaitEnd);
    }

    public static void awaitEnd(ProcessHandle process) {
        try {
            process.onExit().get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError("process " + process.pid() + " does not end", e);
        }
    }

    /** Detaches the mount point whatever state it is in. */
    public void detach() {
        Shell.run("umount", "-l", mountPoint.toString());
    }

    public List<String> parts() {
        try (Stream<Path> folders = Files.exists(state) ? Files.list(state) : Stream.of()) {
            return folders.filter(Files::isDirectory)
                    .map(p -> p.getFileName().toString())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The end of every part's log, for failure messages. */
    public String logs() {
        StringBuilder text = new StringBuilder();
        for (String part : parts()) {
            Path log = state.resolve(part).resolve("log");
            if (Files.exists(log)) {
                text.append("\n---- ").append(log).append('\n');
                text.append(Shell.run("tail", "-n", "40", log.toString()).out());
            }
        }
        return text.toString();
    }

    @Override
    public void close() {
        try {
            mounts.forEach(Mount::kill);
            cairn("down", "--dir", state.toString());
        } finally {
            try {
                // Not by their pid files, which may be on a disk that is gone.
                kill9(ProcessHandle.allProcesses().filter(this::isOurs).toList());
            } finally {
                detach();
                Shell.run("rm", "-rf", "--one-file-system", base.toString());
            }
        }
    }

    private static Path repository() {
        Path here = Path.of("").toAbsolutePath();
        while (!Files.exists(here.resolve("cairn"))) {
            Path parent = here.getParent();
            if (parent == null) {
                throw new AssertionError(
                        "no launcher 'cairn' above " + Path.of("").toAbsolutePath());
            }
            here = parent;
        }
        return here;
    }
}
