package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Prometheus;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The metadata server is killed while data of deleted files is still there: it goes on, and all
 * space comes back. {@code -Dcairn.test.files} sets how many files.
 */
@Tag("slow")
@Tag("part-4")
class ReaperTest {
    private static final int FILES = Integer.getInteger("cairn.test.files", 1_600);
    private static final int DIRECTORIES = 16;
    private static final String MDS = "mds-1";
    private static final String BACKLOG = "cairn_mds_deletion_backlog";
    private static final byte[] CONTENT = new byte[4096];

    @Test
    void deletionsGoOnAfterTheMetadataServerWasKilled() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes", "--capacity", "1GiB")) {
            cluster.layOut();
            // Slow enough to be killed in the middle of it.
            cluster.configure(MDS, c -> c + "\n[background]\nreaper_inodes_per_second = 10\n");
            cluster.up();
            // A disk's own header block is in use. A leader that has not heard of a disk leaves it
            // out.
            Awaitility.await("every data server has said what it holds")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> used(cluster) > 0);
            long usedBefore = used(cluster);

            inParallel(cluster, (directory, i) -> Files.write(file(directory, i), CONTENT));
            Awaitility.await("the files' space in statfs")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> used(cluster) >= usedBefore + (long) FILES * CONTENT.length);
            inParallel(cluster, (directory, i) -> Files.delete(file(directory, i)));
            double backlog = Prometheus.value(cluster, MDS, BACKLOG);
            assertThat(backlog).isGreaterThan(0).isLessThan(FILES);
            Cluster.kill9(List.of(cluster.process(MDS).orElseThrow()));
            cluster.configure(MDS, c -> c.replace("per_second = 10", "per_second = 0"));
            cluster.start(MDS, "mds");
            Awaitility.await("the backlog is gone")
                    .atMost(Duration.ofSeconds(60))
                    .ignoreExceptions() // not listening yet
                    .until(() -> Prometheus.value(cluster, MDS, BACKLOG) == 0);
            Awaitility.await("space is back")
                    .atMost(Duration.ofSeconds(60))
                    .untilAsserted(() -> assertThat(used(cluster)).isLessThanOrEqualTo(usedBefore));
        }
    }

    private static long used(Cluster cluster) throws IOException {
        FileStore store = Files.getFileStore(cluster.mnt());
        return store.getTotalSpace() - store.getUnallocatedSpace();
    }

    private static Path file(Path directory, int i) {
        return directory.resolve("f" + i);
    }

    private interface Work {
        void on(Path directory, int i) throws IOException;
    }

    /** One thread per directory: the kernel changes a directory by one at a time. */
    private static void inParallel(Cluster cluster, Work work) throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int d = 0; d < DIRECTORIES; d++) {
            Path directory = Files.createDirectories(cluster.mnt().resolve("d" + d));
            tasks.add(() -> {
                for (int i = 0; i < FILES / DIRECTORIES; i++) {
                    work.on(directory, i);
                }
                return null;
            });
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(DIRECTORIES)) {
            for (Future<Void> done : threads.invokeAll(tasks)) {
                done.get();
            }
        }
    }
}
