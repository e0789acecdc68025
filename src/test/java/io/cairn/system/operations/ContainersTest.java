package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Capability;
import com.github.dockerjava.api.model.Device;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.DockerDaemon;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;
import org.testcontainers.utility.DockerImageName;

/**
 * The image that {@code make image} builds, as docker/compose.yaml runs it: three metadata servers,
 * three data servers and a client, each a container with a network and disks of its own. Skipped
 * where dockerd cannot run.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ContainersTest {
    private static final String IMAGE = "cairn-test";
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Files that must be written between one fault and the next. */
    private static final int FILES = 5;

    /**
     * Numbered files, each synced before its number is noted; their sums stay on the client's own
     * disk. An error ends it.
     */
    private static final String WRITER =
            """
            set -o pipefail
            mkdir -p /mnt/cairn/written /sums
            while [ ! -e /stop ]; do
                i=$((${i:-$(cat /written 2>/dev/null || echo 0)} + 1))
                head -c $((RANDOM * 8)) /dev/urandom | tee /mnt/cairn/written/$i | sha256sum >/sums/$i &&
                    sync /mnt/cairn/written/$i && echo $i >/written.new && mv /written.new /written ||
                    { echo "file $i" >/failed; exit; }
            done 2>>/failed.why
            : >/stopped
            """;

    private final Map<String, GenericContainer<?>> nodes = new LinkedHashMap<>();
    private @Nullable DockerDaemon daemon;
    private @Nullable Network network;
    private @Nullable Path config;

    @BeforeAll
    void start() {
        DockerDaemon.Attempt attempt = DockerDaemon.start();
        daemon = attempt.daemon();
        if (daemon == null) {
            System.out.println("ContainersTest: skipped: " + attempt.reason());
        }
        assumeTrue(daemon != null, attempt.reason());
        String repository = Cluster.REPOSITORY.toString();
        Shell.run("make", "-s", "-C", repository, "package").ok();
        Shell.run(repository + "/docker/image", IMAGE).ok();
    }

    @AfterAll
    void end() {
        try (DockerDaemon _ = daemon) {
            nodes.values().forEach(GenericContainer::stop);
        }
    }

    @Test
    void whatWasWrittenSurvivesEachServerAndTheClientBeingKilled() throws Exception {
        startCluster();
        client("nohup bash -c '" + WRITER + "' >/dev/null 2>&1 &");
        awaitFiles(FILES);
        for (String server : List.of("mds1", "mds2", "mds3", "data1", "data2", "data3")) {
            kill(server);
            restart(server);
            awaitFiles(written() + FILES);
        }
        kill("client");
        int acknowledged = writtenBeforeItDied();
        restart("client");
        awaitMount();

        assertThat(client("cat /failed /failed.why 2>/dev/null; true")).as("errors").isEmpty();
        String wrong =
                client(
                        """
                        for i in $(seq %d); do
                            [ "$(sha256sum </mnt/cairn/written/$i)" = "$(cat /sums/$i)" ] || echo $i
                        done
                        """
                                .formatted(acknowledged));
        assertThat(wrong).as("files of %d that were synced", acknowledged).isEmpty();
        assertThat(acknowledged).isGreaterThanOrEqualTo(7 * FILES);
        client("cairn status --mds mds1:7000,mds2:7000,mds3:7000");
    }

    /**
     * As docker/README.md tells where docker has no compose; a second start finds what is there.
     */
    @Test
    void theScriptForADockerWithoutCompose() {
        Path folder = Objects.requireNonNull(daemon).directory("run");
        configure(folder, 1);
        script(folder, "up");
        Shell.bash("docker exec cairn-client bash -c 'echo kept >/mnt/cairn/f'").ok();
        script(folder, "down");
        script(folder, "up");
        assertThat(Shell.bash("docker exec cairn-client cat /mnt/cairn/f").ok().out())
                .isEqualTo("kept\n");
        Shell.bash("docker exec cairn-client cairn status --mds mds1:7000").ok();
        script(folder, "down", "-v");
        assertThat(Shell.bash("docker volume ls -q -f name=cairn-").ok().out()).isEmpty();
    }

    private static void script(Path configuration, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Cluster.REPOSITORY.resolve("docker/run").toString());
        command.addAll(List.of(arguments));
        ProcessBuilder run = new ProcessBuilder(command);
        run.environment().put("CONFIG", configuration.toString());
        run.environment().put("IMAGE", IMAGE);
        Shell.run(run, PATIENCE).ok();
    }

    private static void configure(Path folder, int members) {
        String program = Cluster.REPOSITORY.resolve("docker/configure").toString();
        ProcessBuilder configure = new ProcessBuilder(program, "" + members);
        configure.environment().put("CONFIG", folder.toString());
        configure.environment().put("CAPACITY", "2GiB");
        Shell.run(configure, PATIENCE).ok();
    }

    private void startCluster() {
        DockerDaemon docker = Objects.requireNonNull(daemon);
        Path folder = docker.directory("config");
        config = folder;
        network = Network.newNetwork();
        configure(folder, 3);
        for (int i = 1; i <= 3; i++) {
            String[] run = {"mds", "--config", "/etc/cairn/mds.toml"};
            List<String> first = new ArrayList<>(List.of(run));
            first.addAll(List.of("--new-cluster", "--prepare"));
            try (GenericContainer<?> prepared = node("mds" + i, "mds", List.copyOf(first))) {
                prepared.withStartupCheckStrategy(
                                new OneShotStartupCheckStrategy().withTimeout(PATIENCE))
                        .start();
            }
            begin("mds" + i, node("mds" + i, "mds", List.of(run)));
        }
        for (int i = 1; i <= 3; i++) {
            List<String> run = List.of("dataserver", "--config", "/etc/cairn/dataserver.toml");
            begin("data" + i, node("data" + i, "dataserver", run));
        }
        begin("client", mount());
        awaitMount();
    }

    private void begin(String name, GenericContainer<?> container) {
        nodes.put(name, container);
        container.start();
    }

    /** As a service of docker/compose.yaml: its configuration, and a volume of its name. */
    private GenericContainer<?> node(String name, String kind, List<String> command) {
        Bind toml =
                Bind.parse(
                        Objects.requireNonNull(config).resolve(name + ".toml")
                                + ":/etc/cairn/"
                                + kind
                                + ".toml:ro");
        Bind volume = Bind.parse(name + ":/var/lib/cairn");
        return new GenericContainer<>(DockerImageName.parse(IMAGE))
                .withImagePullPolicy(_ -> false)
                .withNetwork(network)
                .withNetworkAliases(name)
                .withCommand(command.toArray(String[]::new))
                .withCreateContainerCmdModifier(create ->
                        Objects.requireNonNull(create.withHostName(name).getHostConfig())
                                .withInit(true)
                                .withBinds(toml, volume));
    }

    private GenericContainer<?> mount() {
        List<String> command =
                List.of(
                        "mount",
                        "mds1:7000,mds2:7000,mds3:7000",
                        "/mnt/cairn",
                        "--config",
                        "/etc/cairn/mount.toml");
        return node("mount", "mount", command)
                .withCreateContainerCmdModifier(create ->
                        Objects.requireNonNull(create.getHostConfig())
                                .withDevices(Device.parse("/dev/fuse"))
                                .withCapAdd(Capability.SYS_ADMIN)
                                .withSecurityOpts(List.of("apparmor:unconfined")));
    }

    private GenericContainer<?> node(String name) {
        return Objects.requireNonNull(nodes.get(name));
    }

    private DockerClient docker() {
        return node("client").getDockerClient();
    }

    private void kill(String name) {
        docker().killContainerCmd(node(name).getContainerId()).exec();
        Awaitility.await(name + " is dead").atMost(PATIENCE).until(() -> !runs(name));
    }

    private boolean runs(String name) {
        return Boolean.TRUE.equals(
                docker().inspectContainerCmd(node(name).getContainerId())
                        .exec()
                        .getState()
                        .getRunning());
    }

    private void restart(String name) {
        docker().startContainerCmd(node(name).getContainerId()).exec();
    }

    private void awaitMount() {
        Awaitility.await("mounted")
                .atMost(PATIENCE)
                .until(() -> {
                    if (!runs("client")) {
                        throw new AssertionError(logs());
                    }
                    return exec("findmnt -t fuse.cairn /mnt/cairn && ls /mnt/cairn").getExitCode()
                            == 0;
                });
    }

    private void awaitFiles(int count) {
        try {
            Awaitility.await("synced files")
                    .atMost(PATIENCE)
                    .until(() -> {
                        assertThat(client("cat /failed /failed.why 2>/dev/null; true"))
                                .as("errors")
                                .isEmpty();
                        return written() >= count;
                    });
        } catch (Throwable e) {
            throw new AssertionError(e.getMessage() + logs(), e);
        }
    }

    private int written() {
        return Integer.parseInt(client("cat /written 2>/dev/null || echo 0").strip());
    }

    /** The client's own disk outlives it; read while it is down. */
    private int writtenBeforeItDied() {
        String id = node("client").getContainerId();
        Shell.Result copied = Shell.bash("docker cp " + id + ":/written - | tar -xO").ok();
        return Integer.parseInt(copied.out().strip());
    }

    /** Runs one script in the client's container; fails the test if the script fails. */
    private String client(String script) {
        ExecResult result = exec(script);
        assertThat(result.getExitCode()).as("%s%s", script, result).isZero();
        return result.getStdout();
    }

    private ExecResult exec(String script) {
        try {
            return node("client").execInContainer("bash", "-c", script);
        } catch (IOException e) {
            throw new AssertionError(script, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted in " + script, e);
        }
    }

    private String logs() {
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
