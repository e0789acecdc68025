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
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * The image that {@code make image} builds, as docker/README.md tells to run it. Skipped where
 * dockerd cannot run. {@code -Dcairn.test.containers.rounds} sets how often each container is
 * killed; with more than one round docker/run is tried too.
 */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ContainersTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.containers.rounds", 1);
    private static final String IMAGE = "cairn-test";
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Files that must be written between one fault and the next. */
    private static final int FILES = 5;

    /**
     * Numbered files, each synced before its sum is noted, outside of the container. An error ends
     * it.
     */
    private static final String WRITER =
            """
            set -o pipefail
            exec 2>>/notes/failed
            touch /notes/sums
            i=$(wc -l </notes/sums)
            while i=$((i + 1)) file=/mnt/cairn/written/$i; do
                sum=$(head -c $((RANDOM * 8)) /dev/urandom | tee $file | sha256sum) && sync $file || break
                echo "${sum%-}$file" >>/notes/sums
            done
            echo "file $i" >&2
            """;

    private @Nullable DockerDaemon daemon;

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
        ContainerCluster cluster = new ContainerCluster(Objects.requireNonNull(daemon), IMAGE);
        cluster.client("mkdir /mnt/cairn/written");
        for (int round = 1; round <= ROUNDS; round++) {
            cluster.inBackground(WRITER);
            awaitFiles(cluster, FILES);
            for (String server : ContainerCluster.SERVERS) {
                cluster.kill(server);
                cluster.restart(server);
                awaitFiles(cluster, FILES);
            }
            cluster.kill(ContainerCluster.CLIENT);
            cluster.restart(ContainerCluster.CLIENT);
            cluster.awaitMount();
            assertThat(written(cluster)).isGreaterThanOrEqualTo(7 * FILES * round);
            cluster.client("sha256sum -c --quiet /notes/sums");
        }
        cluster.client("echo more >/mnt/cairn/more && sync /mnt/cairn/more");
    }

    /** Returns when so many more are written than there are now. */
    private static void awaitFiles(ContainerCluster cluster, int count) throws IOException {
        int enough = written(cluster) + count;
        try {
            Awaitility.await("synced files")
                    .atMost(PATIENCE)
                    .until(() -> {
                        Path failed = cluster.notes().resolve("failed");
                        if (Files.exists(failed)) {
                            assertThat(failed).isEmptyFile();
                        }
                        return written(cluster) >= enough;
                    });
        } catch (Throwable e) {
            throw new AssertionError(e.getMessage() + cluster.logs(), e);
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
}
