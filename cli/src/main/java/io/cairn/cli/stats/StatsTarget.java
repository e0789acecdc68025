package io.cairn.cli.stats;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.common.config.HostPort;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Which part is asked for.
 *
 * @param address its process's metrics
 * @param part its name where it belongs to a local cluster: an embedded one has all in one process;
 *     empty for all parts of the process
 */
record StatsTarget(HostPort address, Optional<String> part) {
    private static final String MOUNT = "mount";

    /**
     * @param word {@code HOST:PORT}, the name of a part, or the mount point of the cluster
     * @throws CommandException USAGE for a word that means nothing, UNREACHABLE where there is no
     *     cluster or the part has no metrics address
     */
    static StatsTarget of(String word, ClusterDirectory cluster) throws IOException {
        if (!word.contains("/") && word.contains(":")) {
            try {
                return new StatsTarget(HostPort.parse(word), Optional.empty());
            } catch (IllegalArgumentException e) {
                throw new CommandException(
                        ExitCode.USAGE, word + ": a metrics address is HOST:PORT", e);
            }
        }
        Map<String, HostPort> addresses = cluster.metricsAddresses();
        if (addresses.isEmpty()) {
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    cluster.path()
                            + ": there is no cluster with metrics; name its directory with --dir, or"
                            + " the metrics_address (HOST:PORT) of the part");
        }
        String part = addresses.containsKey(word) ? word : mountOf(word, cluster, addresses);
        HostPort address = addresses.get(part);
        if (address == null) {
            throw new CommandException(
                    ExitCode.UNREACHABLE, part + " has no metrics_address in its configuration");
        }
        return new StatsTarget(address, Optional.of(part));
    }

    private static String mountOf(
            String word, ClusterDirectory cluster, Map<String, HostPort> addresses)
            throws IOException {
        Optional<Path> mountPoint = cluster.mountPoint();
        Path given = Path.of(word).toAbsolutePath().normalize();
        if (word.equals(MOUNT) || mountPoint.filter(given::equals).isPresent()) {
            return MOUNT;
        }
        throw new CommandException(
                ExitCode.USAGE,
                "%s: neither a part of the cluster in %s (%s) nor its mount point%s; of another mount or server name the metrics_address (HOST:PORT)"
                        .formatted(
                                word,
                                cluster.path(),
                                String.join(", ", addresses.keySet()),
                                mountPoint.map(p -> " " + p).orElse("")));
    }
}
