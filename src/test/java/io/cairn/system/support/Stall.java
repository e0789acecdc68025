package io.cairn.system.support;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;

/**
 * Processes that are paused (SIGSTOP) from the construction of this until it is closed. The signal
 * alone is not enough: each thread goes on until it takes notice of it, and may answer a request
 * meanwhile. For tests of one thread.
 */
public final class Stall implements AutoCloseable {
    /** A thread may have to wait for a disk first. */
    private static final Duration LIMIT = Duration.ofMinutes(1);

    private final List<Long> paused;

    /**
     * @param roles what the parts' names begin with, such as {@code data-} for all data servers
     */
    public Stall(Cluster cluster, String... roles) {
        this(pids(cluster, List.of(roles)));
    }

    Stall(List<Long> pids) {
        paused = pids;
        try {
            signal("STOP");
            paused.forEach(Stall::awaitStopped);
        } catch (Throwable e) {
            signal("CONT");
            throw e;
        }
    }

    private static List<Long> pids(Cluster cluster, List<String> roles) {
        List<Long> pids = new ArrayList<>();
        for (String part : cluster.parts()) {
            if (roles.stream().anyMatch(part::startsWith)) {
                cluster.process(part).ifPresent(process -> pids.add(process.pid()));
            }
        }
        if (pids.isEmpty()) {
            throw new AssertionError("nothing runs as " + roles);
        }
        return pids;
    }

    /** Waits until none of the threads of a process that was sent SIGSTOP runs any more. */
    static void awaitStopped(long pid) {
        Awaitility.await("process " + pid + " stands still")
                .atMost(LIMIT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> standsStill(pid));
    }

    private static boolean standsStill(long pid) throws IOException {
        Path tasks = Path.of("/proc", "" + pid, "task");
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
            for (Path thread : threads) {
                if (!hasStopped(thread)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** By the state after the name in parentheses, which may hold any character, see proc(5). */
    private static boolean hasStopped(Path thread) {
        try {
            String stat = Files.readString(thread.resolve("stat"));
            return "TtZX".indexOf(stat.charAt(stat.lastIndexOf(')') + 2)) >= 0;
        } catch (IOException e) {
            return Files.notExists(thread); // it has ended
        }
    }

    private void signal(String name) {
        paused.forEach(pid -> Shell.run("kill", "-" + name, "" + pid).ok());
    }

    /** They go on. */
    @Override
    public void close() {
        signal("CONT");
    }
}
