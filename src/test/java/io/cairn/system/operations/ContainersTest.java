package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.ContainerCluster;
import io.cairn.system.support.DockerDaemon;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import tools.jackson.databind.JsonNode;

/**
 * The image that {@code make image} builds, as docker/README.md tells to run it. Skipped where
 * dockerd cannot run. {@code -Dcairn.test.containers.rounds} sets how often each container is
 * killed; with more than one round each is also cut off, paused and restarted, one is drained, and
 * docker/run is tried.
 */
@Tag("slow")
@Tag("part-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ContainersTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.containers.rounds", 1);
    private static final String IMAGE = "cairn-test";
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Files that must be written between one fault and the next. */
    private static final int FILES = 5;

    /**
     * Numbered files, each synced before its sum is noted, outside of the container. An error ends
     * it, and so does the file enough.
     */
    private static final String WRITER =
            """
            set -o pipefail
            exec 2>>/notes/failed 9>/notes/writing
            flock 9
            touch /notes/sums
            i=$(wc -l </notes/sums)
            while [ ! -e /notes/enough ] && i=$((i + 1)) file=/mnt/cairn/written/$i; do
                sum=$(head -c $((RANDOM * 8)) /dev/urandom | tee $file | sha256sum) && sync $file || break
                echo "${sum%-}$file" >>/notes/sums
            done
            [ -e /notes/enough ] || echo "file $i" >&2
            """;

    private @Nullable DockerDaemon daemon;
    private @Nullable ContainerCluster cluster;

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
        if (daemon != null) {
            daemon.close();
        }
    }

    @Test
    void whatWasWrittenSurvivesEachServerAndTheClientBeingKilled() throws IOException {
        ContainerCluster cluster = running();
        for (int round = 1; round <= ROUNDS; round++) {
            int before = written(cluster);
            cluster.inBackground(WRITER);
            awaitFiles(cluster, FILES);
            for (String server : cluster.servers()) {
                cluster.kill(server);
                cluster.restart(server);
                awaitFiles(cluster, FILES);
            }
            cluster.kill(ContainerCluster.CLIENT);
            cluster.restart(ContainerCluster.CLIENT);
            cluster.awaitMount();
            assertThat(written(cluster) - before).isGreaterThanOrEqualTo(7 * FILES);
            cluster.client("sha256sum -c --quiet /notes/sums");
            Files.deleteIfExists(cluster.notes().resolve("failed"));
        }
        cluster.client("echo more >/mnt/cairn/more && sync /mnt/cairn/more");
        awaitWhole(cluster, "the kills");
    }

    /** With one round only one server of each kind is cut off and paused, and none restarted. */
    @Test
    void nothingFailsWhileServersAreCutOffPausedAddedDrainedAndRestarted() throws IOException {
        ContainerCluster cluster = running();
        cluster.inBackground(WRITER);
        awaitFiles(cluster, FILES);
        cluster.add("data4");
        await("data4 has its share")
                .until(() -> replicas(cluster, "data4") > 0 && isStill(cluster));
        String leader = "mds" + cluster.status().path("leader").asInt();
        for (String server : ROUNDS > 1 ? cluster.servers() : List.of(leader, "data2")) {
            disturb(cluster, server, cluster::disconnect, cluster::connect);
            disturb(cluster, server, cluster::pause, cluster::unpause);
        }
        if (ROUNDS > 1) {
            drainAndRestore(cluster, "data1");
            for (String server : cluster.servers()) {
                restart(cluster, server);
            }
        }
        Files.createFile(cluster.notes().resolve("enough"));
        cluster.client("flock /notes/writing true");
        Files.delete(cluster.notes().resolve("enough"));
        assertNothingFailed(cluster);
        cluster.client("sha256sum -c --quiet /notes/sums");
    }

    /** One cluster for all tests: its volumes have names. */
    private ContainerCluster running() {
        if (cluster == null) {
            cluster = new ContainerCluster(Objects.requireNonNull(daemon), IMAGE);
            cluster.client("mkdir /mnt/cairn/written");
        }
        return cluster;
    }

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(PATIENCE);
    }

    private static void awaitWhole(ContainerCluster cluster, String after) {
        await("everybody is back after " + after).until(() -> isWhole(cluster));
    }

    private static boolean isWhole(ContainerCluster cluster) {
        try {
            return cluster.isWhole();
        } catch (AssertionError e) {
            return false; // nobody leads
        }
    }

    private static boolean isStill(ContainerCluster cluster) {
        JsonNode pgs = cluster.status().path("pgs");
        return pgs.path("degraded").asInt(-1) == 0 && pgs.path("recovering").asInt(-1) == 0;
    }

    /** Replicas of placement groups on the disks of a data server. */
    private static int replicas(ContainerCluster cluster, String server) {
        return cluster.dataServer(server)
                .path("disks")
                .valueStream()
                .mapToInt(disk -> disk.path("replicas").asInt())
                .sum();
    }

    /** Something that ends by itself happens to a server for as long as it takes to be noticed. */
    private static void disturb(
            ContainerCluster cluster, String server, Consumer<String> begin, Consumer<String> end)
            throws IOException {
        begin.accept(server);
        awaitFiles(cluster, FILES);
        await(server + " is missed").until(() -> !isWhole(cluster));
        end.accept(server);
        awaitWhole(cluster, server + " was away");
        awaitFiles(cluster, FILES);
    }

    private static void drainAndRestore(ContainerCluster cluster, String server)
            throws IOException {
        int id = cluster.dataServer(server).path("id").asInt();
        cluster.administrator("server drain " + id);
        await(server + " is drained").until(() -> replicas(cluster, server) == 0);
        awaitFiles(cluster, FILES);
        cluster.administrator("server restore " + id);
        await(server + " has its share again")
                .until(() -> replicas(cluster, server) > 0 && isStill(cluster));
        awaitFiles(cluster, FILES);
    }

    /** As docs/operations.md tells for a rolling restart. */
    private static void restart(ContainerCluster cluster, String server) throws IOException {
        if (server.startsWith("data")) {
            int id = cluster.dataServer(server).path("id").asInt();
            await(server + " can be stopped").until(() -> cluster.canStop(id));
        }
        cluster.restartGently(server);
        awaitFiles(cluster, FILES);
        awaitWhole(cluster, server + " was restarted");
    }

    /** Returns when so many more are written than there are now. */
    private static void awaitFiles(ContainerCluster cluster, int count) throws IOException {
        int enough = written(cluster) + count;
        try {
            Awaitility.await("synced files")
                    .atMost(PATIENCE)
                    .until(() -> {
                        assertNothingFailed(cluster);
                        return written(cluster) >= enough;
                    });
        } catch (Throwable e) {
            throw new AssertionError(e.getMessage() + cluster.logs(), e);
        }
    }

    private static void assertNothingFailed(ContainerCluster cluster) {
        Path failed = cluster.notes().resolve("failed");
        if (Files.exists(failed)) {
            assertThat(failed).isEmptyFile();
        }
    }

    private static int written(ContainerCluster cluster) throws IOException {
        Path sums = cluster.notes().resolve("sums");
        return Files.exists(sums) ? Files.readAllLines(sums).size() : 0;
    }

    /**
     * As docker/README.md tells where docker has no compose; a second start finds what is there.
     */
    @Test
    void theScriptForADockerWithoutCompose() {
        assumeTrue(ROUNDS > 1, "-Dcairn.test.containers.rounds is 1");
        Path folder = Objects.requireNonNull(daemon).directory("run");
        ContainerCluster.configure(folder, 1);
        script(folder, "up");
        Shell.bash("docker exec cairn-client bash -c 'echo kept >/mnt/cairn/f'").ok();
        script(folder, "down");
        script(folder, "up");
        assertThat(Shell.bash("docker exec cairn-client cat /mnt/cairn/f").ok().out())
                .isEqualTo("kept\n");
        String status = "docker exec cairn-client cairn status --mds mds1:7000";
        await("replicas are brought up to date").until(() -> Shell.bash(status).exitCode() == 0);
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
}
