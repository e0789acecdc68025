package io.cairn.system.faults;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.LoopDisk;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Three metadata servers and four data servers, each of which has all of its state on a disk of its
 * own, xfs or ext4, that can lose its power. The mount has none. One thread.
 */
final class PoweredServers implements AutoCloseable {
    private static final String CONFIG = "config.toml";

    private final Cluster cluster;
    private final TreeMap<String, LoopDisk> disks = new TreeMap<>();

    /** Lays out a new cluster below a directory; starts nothing. */
    PoweredServers(Path base) throws IOException {
        cluster =
                new Cluster(
                        base,
                        base.resolve("state"),
                        "--processes",
                        "--mds",
                        "3",
                        "--data",
                        "4",
                        "--capacity",
                        "1GiB",
                        "--wal-size",
                        "64MiB");
        cluster.layOut();
        boolean made = false;
        try {
            for (String part : cluster.parts()) {
                if (!part.equals("mount")) {
                    giveDisk(part);
                }
            }
            made = true;
        } finally {
            if (!made) {
                close();
            }
        }
    }

    private void giveDisk(String part) throws IOException {
        Path folder = cluster.state().resolve(part);
        String config = Files.readString(folder.resolve(CONFIG));
        String type = disks.size() % 2 == 0 ? "xfs" : "ext4";
        disks.put(part, LoopDisk.make(folder, type, "3G"));
        Files.writeString(folder.resolve(CONFIG), config);
        Shell.run("sync", "-f", folder.toString()).ok();
    }

    Cluster cluster() {
        return cluster;
    }

    /** Of all servers. */
    List<String> names() {
        return List.copyOf(disks.keySet());
    }

    /**
     * These lose their power: their disks first, as they are to acknowledge nothing after that.
     * Commands find their configurations nevertheless, below where the disks were.
     *
     * @param besides processes that end with them
     */
    void cut(List<String> names, ProcessHandle... besides) {
        List<ProcessHandle> processes = new ArrayList<>(List.of(besides));
        // Looked up now: their pid files go with the disks.
        names.forEach(name -> processes.add(cluster.process(name).orElseThrow()));
        LoopDisk.cutPower(names.stream().map(this::disk).toList());
        Cluster.kill9(processes);
        names.forEach(name -> disk(name).unmount());
    }

    /** Power is back. What is on the disks of data servers agrees with itself, as it is. */
    void restore(List<String> names) {
        names.forEach(name -> disk(name).mount());
        names.parallelStream().filter(name -> name.startsWith("data-")).forEach(this::check);
    }

    private LoopDisk disk(String name) {
        return Objects.requireNonNull(disks.get(name), name);
    }

    private void check(String name) {
        Path config = cluster.state().resolve(name).resolve(CONFIG);
        Cluster.cairn("disk", "check", "--config", config.toString()).ok();
    }

    void start(List<String> names) {
        for (String name : names) {
            cluster.start(name, name.startsWith("mds-") ? "mds" : "dataserver");
        }
    }

    @Override
    public void close() {
        cluster.close();
        for (LoopDisk disk : disks.values()) {
            try {
                disk.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
