package io.cairn.system.support;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A Python program of the resources, whose last arguments are one directory as several mounts of a
 * cluster have it: first that of the cluster's own mount, then of others, which are mounted when
 * this is made, and unmounted when it is closed.
 */
public final class MountScript implements AutoCloseable {
    private final List<Mount> others = new ArrayList<>();
    private final List<String> command = new ArrayList<>();

    /**
     * @param file below {@code src/test/resources}
     * @param directory that is made for it
     * @param mounts all together
     * @param arguments in front of the directories
     */
    public MountScript(
            Cluster cluster, String file, String directory, int mounts, String... arguments) {
        Path script = Cluster.REPOSITORY.resolve("src/test/resources").resolve(file);
        command.addAll(List.of("python3", script.toString()));
        command.addAll(List.of(arguments));
        cluster.work(directory);
        for (int i = 1; i < mounts; i++) {
            others.add(cluster.mount("other-" + i));
        }
        Stream.concat(Stream.of(cluster.mnt()), others.stream().map(Mount::mnt))
                .forEach(mount -> command.add(mount.resolve(directory).toString()));
    }

    /** Once; what it said is printed, and it has not failed. */
    public void run() {
        Shell.Result said = Shell.run(command);
        System.out.println((1 + others.size()) + " mounts: " + said.out());
        said.ok();
    }

    @Override
    public void close() {
        others.forEach(Mount::close);
    }
}
