package io.cairn.cli.local;

import io.cairn.common.config.HostPort;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The state directory of a cluster made by {@code cairn up}: which parts it has, which run. */
public final class ClusterDirectory {
    private final Path path;

    public ClusterDirectory(Path path) {
        this.path = path.toAbsolutePath().normalize();
    }

    /** The directory a command was given with {@code --dir}, or the user's default one. */
    public static ClusterDirectory chosen(@Nullable Path option) {
        return new ClusterDirectory(option == null ? defaultPath(System.getenv()) : option);
    }

    /** {@code $XDG_STATE_HOME/cairn}, or {@code ~/.local/state/cairn}. */
    static Path defaultPath(Map<String, String> environment) {
        String state = environment.getOrDefault("XDG_STATE_HOME", "");
        if (!state.isEmpty()) {
            return Path.of(state, "cairn");
        }
        String home = environment.getOrDefault("HOME", System.getProperty("user.home", "/"));
        return Path.of(home, ".local", "state", "cairn");
    }

    public Path path() {
        return path;
    }

    Part part(PartKind kind, int number) {
        return new Part(path, kind, number);
    }

    boolean exists() {
        return Files.isDirectory(path);
    }

    /** Whether all configurations are written: that of the mount is the last. */
    boolean laidOut() {
        return Files.exists(part(PartKind.MOUNT, 1).config());
    }

    /** Every part that has a folder: read from the disk by each call. */
    Parts parts() throws IOException {
        List<Part> parts = new ArrayList<>();
        if (!exists()) {
            return new Parts(parts);
        }
        try (Stream<Path> folders = Files.list(path)) {
            for (Path folder : (Iterable<Path>) folders::iterator) {
                String name = folder.getFileName().toString();
                Optional<PartKind> kind = PartKind.ofFolder(name);
                if (kind.isPresent() && Files.isDirectory(folder)) {
                    int dash = name.indexOf('-');
                    int number = dash < 0 ? 1 : Integer.parseInt(name.substring(dash + 1));
                    parts.add(part(kind.get(), number));
                }
            }
        }
        parts.sort(Comparator.comparing(Part::kind).thenComparingInt(Part::number));
        return new Parts(parts);
    }

    /** Where the MDS members listen, by their configurations; empty if there is no cluster. */
    public List<HostPort> mdsAddresses() throws IOException {
        return parts().mdsAddresses();
    }

    /** Where each part's metrics are, by its name and configuration. */
    public Map<String, HostPort> metricsAddresses() throws IOException {
        return parts().metricsAddresses();
    }

    /** Where it was last mounted. */
    public Optional<Path> mountPoint() throws IOException {
        Path file = path.resolve("mountpoint");
        return Files.exists(file)
                ? Optional.of(Path.of(Files.readString(file).stripTrailing()))
                : Optional.empty();
    }

    void rememberMountPoint(Path mountPoint) throws IOException {
        Files.writeString(path.resolve("mountpoint"), mountPoint + "\n");
    }

    /** The parts whose process is alive. */
    List<Part> running() throws IOException {
        return parts().running();
    }
}
