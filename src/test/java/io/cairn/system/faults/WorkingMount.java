package io.cairn.system.faults;

import io.cairn.system.history.Operation;
import io.cairn.system.history.Recorder;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Stall;
import io.cairn.system.workload.Worker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/**
 * A mount with a {@link Worker} on it. The test itself opens nothing there, so that it never waits
 * for a mount that is suspended or cut off. One thread.
 */
final class WorkingMount {
    /** Of the objects, below the mount point. */
    static final String OBJECTS = "objects";

    private final String name;
    private final Mount mount;
    private final Path said;
    private final Path history;
    private final Process worker;
    private boolean killed;

    /**
     * Mounts, and starts the work.
     *
     * @param name of the mount, new in this cluster
     * @param options of the worker: a seed, or nothing if all is to be read once
     */
    WorkingMount(Cluster cluster, String name, String... options) {
        this.name = name;
        mount = cluster.mount(name);
        history = cluster.base().resolve(name + ".history");
        said = cluster.base().resolve(name + ".said");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.add(Worker.class.getName());
        command.addAll(List.of(name, mount.mnt().resolve(OBJECTS).toString()));
        command.add(history.toString());
        command.addAll(List.of(options));
        try {
            worker =
                    new ProcessBuilder(command)
                            .redirectOutput(said.toFile())
                            .redirectErrorStream(true)
                            .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String name() {
        return name;
    }

    Path mnt() {
        return mount.mnt();
    }

    /** Pauses the process of the mount until the result is closed. */
    Stall stall() {
        return mount.stall();
    }

    /**
     * Kills the mount; what its worker has in flight fails, and the worker ends. One that has not
     * begun would take the empty directory for the mount: it is waited for.
     */
    void kill() {
        Awaitility.await("the worker of " + name + " has begun")
                .until(() -> !worker.isAlive() || history.toFile().length() > 0);
        killed = true;
        mount.kill();
    }

    /** Tells the worker to stop; it ends when what it has in flight has returned. */
    void stop() {
        try {
            worker.getOutputStream().close();
        } catch (IOException e) {
            // It has ended already.
        }
    }

    /** Waits for the worker. */
    boolean hasStopped(Duration limit) throws InterruptedException {
        return worker.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    boolean hasSucceeded() {
        return !worker.isAlive() && worker.exitValue() == 0;
    }

    /** What the worker said. */
    String words() throws IOException {
        return (worker.isAlive() ? "does not end, " : "ended, ") + Files.readString(said);
    }

    List<Operation> operations() {
        return Recorder.read(history);
    }

    /**
     * Whether its programs may have been told of errors, and may have lost what they did not sync:
     * it was killed, or silent for so long that its session was ended.
     */
    boolean wasLost() {
        return killed || mount.log().contains(" has ended: ");
    }

    /** The worker, and with it whatever it waits for. */
    void end() {
        if (worker.isAlive()) {
            mount.kill();
            worker.destroyForcibly();
            Cluster.awaitEnd(worker.toHandle());
        }
    }
}
