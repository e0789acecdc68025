package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.common.config.HostPort;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which cluster a command speaks to: {@code --mds} or {@code --dir}. */
final class ClusterOptions {
    @Option(
            names = "--mds",
            paramLabel = "HOST:PORT",
            split = ",",
            description = "MDS members to ask; default: those of the local cluster in --dir.")
    private List<String> mds = List.of();

    @Option(names = "--dir", paramLabel = "DIR", description = "State of a local cluster.")
    private @Nullable Path directory;

    /** The state directory; empty where servers were named instead. */
    Optional<ClusterDirectory> local() {
        return mds.isEmpty() ? Optional.of(ClusterDirectory.chosen(directory)) : Optional.empty();
    }

    /**
     * What to do when no leader answers. A cluster whose servers were named is not to be started
     * from here: that would be a second, empty one.
     */
    String advice() {
        return mds.isEmpty()
                ? "is the cluster up? try 'cairn up'"
                : "see 'No leader' in docs/troubleshooting.md";
    }

    /**
     * Addresses of metadata servers, at least one.
     *
     * @throws CommandException UNREACHABLE where the directory has no cluster
     */
    List<HostPort> members() throws IOException {
        if (!mds.isEmpty()) {
            return Addresses.parse(mds);
        }
        ClusterDirectory cluster = ClusterDirectory.chosen(directory);
        List<HostPort> members = cluster.mdsAddresses();
        if (members.isEmpty()) {
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    cluster.path()
                            + ": there is no cluster; start one with 'cairn up MOUNTPOINT', or name"
                            + " its directory with --dir or its servers with --mds");
        }
        return members;
    }
}
