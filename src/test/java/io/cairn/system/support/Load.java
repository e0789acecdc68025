package io.cairn.system.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A job that dirties pages of a mount and syncs them until it is closed, so that nothing of ours
 * runs on an idle machine. One thread.
 */
public final class Load implements AutoCloseable {
    private final Process job;

    public Load(Mount mount) {
        try {
            Path directory = Files.createDirectory(mount.mnt().resolve("load"));
            job =
                    new ProcessBuilder(
                                    "fio",
                                    "--name=load",
                                    "--directory=" + directory,
                                    "--rw=randwrite",
                                    "--bs=4k",
                                    "--ioengine=mmap",
                                    "--size=32m",
                                    "--fsync=500",
                                    "--time_based",
                                    "--runtime=1d")
                            .redirectErrorStream(true)
                            .redirectOutput(Path.of("/dev/null").toFile())
                            .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** False when it met an error. */
    public boolean isAlive() {
        return job.isAlive();
    }

    @Override
    public void close() {
        // It ends before those that do the work, which keep the mount busy until they have.
        List<ProcessHandle> workers = job.descendants().toList();
        workers.forEach(ProcessHandle::destroyForcibly);
        job.destroyForcibly();
        Cluster.awaitEnd(job.toHandle());
        workers.forEach(Cluster::awaitEnd);
    }
}
