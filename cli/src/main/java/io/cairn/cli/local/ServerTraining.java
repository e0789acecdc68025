package io.cairn.cli.local;

import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.ByteSize;
import io.cairn.fuse.mount.MountOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A small cluster that is worked on for some seconds, so that a JVM that records itself (JEP 514)
 * has loaded what servers and mounts load and knows which methods are hot. The main thread.
 */
public final class ServerTraining {
    private static final Logger LOG = LoggerFactory.getLogger(ServerTraining.class);

    private final Path directory;
    private final Duration duration;

    /**
     * @param directory is filled, and left to the caller
     * @param duration of the work, besides starting and stopping
     */
    public ServerTraining(Path directory, Duration duration) {
        this.directory = directory;
        this.duration = duration;
    }

    /** Where nothing can be mounted the servers start and stop. */
    public void run() throws Exception {
        ClusterDirectory cluster = new ClusterDirectory(directory.resolve("cluster"));
        new ClusterPlan(1, 3, new ByteSize(1L << 30), new ByteSize(ClusterPlan.MINIMUM_WAL))
                .write(cluster);
        new Members(cluster, cluster.parts()).prepare(false);
        Path mountPoint = Files.createDirectories(directory.resolve("mnt"));
        try (ServerProcess process = new ServerProcess()) {
            EmbeddedCluster parts = new EmbeddedCluster(cluster, process);
            parts.startServers();
            try {
                parts.mount(mountPoint, MountOptions.DEFAULT);
            } catch (IOException | RuntimeException e) {
                LOG.warn("nothing can be mounted here: only the start of servers is recorded", e);
                return;
            }
            new TrainingWork(mountPoint, System.nanoTime() + duration.toNanos()).run();
        }
    }
}
