package io.cairn.system.support;

import java.util.ArrayList;
import java.util.List;

/** Parts of a cluster that are paused (SIGSTOP) until this is closed. For tests of one thread. */
public final class Stall implements AutoCloseable {
    private final List<Long> paused = new ArrayList<>();

    /**
     * @param roles what the parts' names begin with, such as {@code data-} for all data servers
     */
    public Stall(Cluster cluster, String... roles) {
        for (String part : cluster.parts()) {
            if (List.of(roles).stream().anyMatch(part::startsWith)) {
                cluster.process(part).ifPresent(process -> paused.add(process.pid()));
            }
        }
        if (paused.isEmpty()) {
            throw new AssertionError("nothing runs as " + List.of(roles));
        }
        signal("STOP");
    }

    private void signal(String name) {
        paused.forEach(pid -> Shell.run("kill", "-" + name, "" + pid).ok());
    }

    @Override
    public void close() {
        signal("CONT");
    }
}
