package io.cairn.system.support;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Capability;
import com.github.dockerjava.api.model.ContainerNetwork;
import com.github.dockerjava.api.model.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.awaitility.Awaitility;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;
import org.testcontainers.lifecycle.Startables;
import org.testcontainers.utility.DockerImageName;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/**
 * Three metadata servers, three data servers and a client that has the file system on {@code
 * /mnt/cairn}, each a container as docker/compose.yaml describes it, but for fewer placement
 * groups. A fourth data server can be added. They go with the daemon that runs them. One thread.
 */
public final class ContainerCluster {
    /** In the order in which they are started. */
    public static final List<String> SERVERS =
            List.of("mds1", "mds2", "mds3", "data1", "data2", "data3");

    public static final String CLIENT = "client";

    private static final String MDS = "mds1:7000,mds2:7000,mds3:7000";
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private final Map<String, GenericContainer<?>> nodes = new LinkedHashMap<>();
    private final Network network = Network.newNetwork();
    private final String image;
    private final Path config;
    private final Path notes;

    /** Makes a new cluster, and returns when the client has it mounted. */
    public ContainerCluster(DockerDaemon daemon, String image) {
        this.image = image;
        config = daemon.directory("config");
        notes = daemon.directory("notes");
        configure(config, 3);
        patientClient();
        fewPlacementGroups();
        List<GenericContainer<?>> prepared = new ArrayList<>();
        for (String server : SERVERS) {
            boolean names = server.startsWith("mds");
            List<String> command = command(names ? "mds" : "dataserver");
            nodes.put(server, node(server, server, command));
            if (names) {
                List<String> first = new ArrayList<>(command);
                first.addAll(List.of("--new-cluster", "--prepare"));
                prepared.add(
                        node(server, server, first)
                                .withStartupCheckStrategy(
                                        new OneShotStartupCheckStrategy().withTimeout(PATIENCE)));
            }
        }
        nodes.put(CLIENT, mount().dependsOn(nodes.values()));
        Startables.deepStart(prepared).join();
        prepared.forEach(GenericContainer::stop);
        Startables.deepStart(nodes.values()).join();
        awaitMount();
    }

    /** Writes the configurations of a new cluster. */
    public static void configure(Path folder, int members) {
        String program = Cluster.REPOSITORY.resolve("docker/configure").toString();
        ProcessBuilder configure = new ProcessBuilder(program, "" + members);
        configure.environment().put("CONFIG", folder.toString());
        configure.environment().put("CAPACITY", "2GiB");
        Shell.run(configure, PATIENCE).ok();
    }

    /** Servers take their time on a busy machine. */
    private void patientClient() {
        Path file = config.resolve("mount.toml");
        try {
            String text = Files.readString(file);
            String patient = "connect_timeout = \"%ds\"".formatted(PATIENCE.toSeconds());
            Files.writeString(file, text.replace("connect_timeout = \"1min\"", patient));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** They move within seconds. */
    private void fewPlacementGroups() {
        try {
            for (String server : SERVERS.subList(0, 3)) {
                Path file = config.resolve(server + ".toml");
                Files.writeString(file, Files.readString(file) + "\n[pool]\npg_count = 32\n");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts another data server, with a configuration like that of the third. */
    public void add(String name) {
        try {
            String third = Files.readString(config.resolve("data3.toml"));
            Files.writeString(config.resolve(name + ".toml"), third.replace("data3", name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        GenericContainer<?> node = node(name, name, command("dataserver"));
        nodes.put(name, node);
        node.start();
    }

    /** In the order in which they were started. */
    public List<String> servers() {
        return nodes.keySet().stream().filter(name -> !name.equals(CLIENT)).toList();
    }

    private static List<String> command(String kind) {
        return List.of(kind, "--config", "/etc/cairn/" + kind + ".toml");
    }

    /** As a service of docker/compose.yaml: its configuration, and a volume of its name. */
    private GenericContainer<?> node(String name, String toml, List<String> command) {
        String inside = command.get(command.indexOf("--config") + 1);
        List<Bind> binds =
                List.of(
                        Bind.parse(config.resolve(toml + ".toml") + ":" + inside + ":ro"),
                        Bind.parse(name + ":/var/lib/cairn"),
                        Bind.parse(notes + ":/notes"));
        return new GenericContainer<>(DockerImageName.parse(image))
                .withImagePullPolicy(_ -> false)
                .withNetwork(network)
                .withNetworkAliases(name)
                .withCommand(command.toArray(String[]::new))
                .withCreateContainerCmdModifier(create ->
                        Objects.requireNonNull(create.withHostName(name).getHostConfig())
                                .withInit(true)
                                .withBinds(binds));
    }

    private GenericContainer<?> mount() {
        List<String> command = new ArrayList<>(List.of("mount", MDS, "/mnt/cairn"));
        command.addAll(command("mount").subList(1, 3));
        return node(CLIENT, "mount", command)
                .withCreateContainerCmdModifier(create ->
                        Objects.requireNonNull(create.getHostConfig())
                                .withDevices(Device.parse("/dev/fuse"))
                                .withCapAdd(Capability.SYS_ADMIN)
                                .withSecurityOpts(List.of("apparmor:unconfined")));
    }

    /** A directory of this machine that every container has as {@code /notes}. */
    public Path notes() {
        return notes;
    }

    /**
     * SIGKILL of all processes of a container; returns when they are gone. It is an error if they
     * ended before by themselves.
     */
    public void kill(String name) {
        if (!runs(name)) {
            throw new AssertionError(name + " has ended by itself" + logs());
        }
        docker().killContainerCmd(id(name)).exec();
        Awaitility.await(name + " is dead").atMost(PATIENCE).until(() -> !runs(name));
    }

    /** Starts what was killed, and does not wait for it. */
    public void restart(String name) {
        docker().startContainerCmd(id(name)).exec();
    }

    /** SIGTERM, and a new start; returns when it is started. */
    public void restartGently(String name) {
        docker().restartContainerCmd(id(name)).exec();
    }

    /** SIGSTOP of all processes of a container, by its control group. */
    public void pause(String name) {
        docker().pauseContainerCmd(id(name)).exec();
    }

    public void unpause(String name) {
        docker().unpauseContainerCmd(id(name)).exec();
    }

    /** Takes a container's only interface away. */
    public void disconnect(String name) {
        docker().disconnectFromNetworkCmd()
                .withNetworkId(network.getId())
                .withContainerId(id(name))
                .exec();
    }

    public void connect(String name) {
        docker().connectToNetworkCmd()
                .withNetworkId(network.getId())
                .withContainerId(id(name))
                .withContainerNetwork(new ContainerNetwork().withAliases(name))
                .exec();
    }

    /** What {@code cairn status --json} says in the client's container. */
    public JsonNode status() {
        String script =
                "for i in {1..%d}; do cairn status --json --mds %s; code=$?; [ $code = %d ] || break; done;"
                        + " [ $code = 0 ] || [ $code = %d ]";
        String said =
                client(
                        script.formatted(
                                Cluster.STATUS_ATTEMPTS,
                                MDS,
                                Cluster.UNREACHABLE,
                                Cluster.DEGRADED));
        return JsonMapper.shared().readTree(said);
    }

    /** As {@link Cluster#isWhole()}. */
    public boolean isWhole() {
        return Cluster.isWhole(status());
    }

    /** What the status says of a data server; missing if it has not registered. */
    public JsonNode dataServer(String name) {
        return status().path("data_servers")
                .valueStream()
                .filter(s -> s.path("address").asString().startsWith(name + ":"))
                .findAny()
                .orElse(MissingNode.getInstance());
    }

    /** Runs a command of an administrator in the client's container; fails the test if it fails. */
    public void administrator(String command) {
        client("cairn " + command + " --mds " + MDS);
    }

    /**
     * Whether every placement group stays writable without a data server.
     *
     * @param id its number in the cluster
     */
    public boolean canStop(int id) {
        return exec("cairn server can-stop " + id + " --mds " + MDS).getExitCode() == 0;
    }

    public void awaitMount() {
        Awaitility.await("mounted")
                .atMost(PATIENCE)
                .until(() -> {
                    if (!runs(CLIENT)) {
                        throw new AssertionError(logs());
                    }
                    return exec("findmnt -t fuse.cairn /mnt/cairn && ls /mnt/cairn").getExitCode()
                            == 0;
                });
    }

    private boolean runs(String name) {
        return Boolean.TRUE.equals(
                docker().inspectContainerCmd(id(name)).exec().getState().getRunning());
    }

    /** Runs a script of bash in the client's container; fails the test if the script fails. */
    public String client(String script) {
        ExecResult result = exec(script);
        assertThat(result.getExitCode()).as("%s%s", script, result).isZero();
        return result.getStdout();
    }

    /** Starts a script of bash in the client's container; it ends with that. */
    public void inBackground(String script) {
        Shell.run("docker", "exec", "-d", id(CLIENT), "bash", "-c", script).ok();
    }

    private ExecResult exec(String script) {
        try {
            return node(CLIENT).execInContainer("bash", "-c", script);
        } catch (IOException e) {
            throw new UncheckedIOException(script, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted in " + script, e);
        }
    }

    private GenericContainer<?> node(String name) {
        return Objects.requireNonNull(nodes.get(name));
    }

    private String id(String name) {
        return node(name).getContainerId();
    }

    private DockerClient docker() {
        return node(CLIENT).getDockerClient();
    }

    /** The end of every container's log, for failure messages. */
    public String logs() {
        StringBuilder text = new StringBuilder();
        nodes.forEach((name, node) -> {
            List<String> lines = node.getLogs().lines().toList();
            text.append("\n---- ").append(name).append('\n');
            int from = Math.max(0, lines.size() - 20);
            text.append(String.join("\n", lines.subList(from, lines.size())));
        });
        return text.toString();
    }
}
