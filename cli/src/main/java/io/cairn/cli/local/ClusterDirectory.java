package io.cairn.cli.local;

import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.mds.server.MdsConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The state directory of a cluster made by {@code cairn up}: which parts it has, which run. */
public final class ClusterDirectory {
    private final Path path;

    public ClusterDirectory(Path path) {
        this.path = path.toAbsolutePath().normalize();
    }

    /** {@code $XDG_STATE_HOME/cairn}, or {@code ~/.local/state/cairn}. */
    public static Path defaultPath(Map<String, String> environment) {
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

    /**
     * Every part that has a configuration, MDS members first, then data servers, then the mount.
     */
    List<Part> parts() throws IOException {
        List<Part> parts = new ArrayList<>();
        if (!exists()) {
            return parts;
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
        parts.sort(Comparator.comparing(Part::kind).thenComparing(Part::number));
        return parts;
    }

    List<Part> parts(PartKind kind) throws IOException {
        return parts().stream().filter(p -> p.kind() == kind).toList();
    }

    /** Where the MDS members listen, by their configurations; empty if there is no cluster. */
    public List<HostPort> mdsAddresses() throws IOException {
        List<HostPort> addresses = new ArrayList<>();
        for (Part part : parts(PartKind.MDS)) {
            addresses.add(self(Config.load(part.config(), MdsConfig.class)).address());
        }
        return addresses;
    }

    /** Where it was last mounted. */
    Optional<Path> mountPoint() throws IOException {
        Path file = path.resolve("mountpoint");
        return Files.exists(file)
                ? Optional.of(Path.of(Files.readString(file).stripTrailing()))
                : Optional.empty();
    }

    void rememberMountPoint(Path mountPoint) throws IOException {
        Files.writeString(path.resolve("mountpoint"), mountPoint + "\n");
    }

    /** The member that the configuration is of. */
    static MdsConfig.Member self(MdsConfig config) {
        return config.members().stream()
                .filter(m -> m.id() == config.memberId())
                .findFirst()
                .orElseThrow();
    }

    /** The parts whose process is alive. */
    List<Part> running() throws IOException {
        List<Part> running = new ArrayList<>();
        for (Part part : parts()) {
            if (part.process().isPresent()) {
                running.add(part);
            }
        }
        return running;
    }
}
