package io.cairn.cli.local;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.Config;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.mds.raft.MemberDirectory;
import io.cairn.mds.raft.MemberDirectory.Content;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.server.MdsConfig;
import io.cairn.mds.server.MdsServer;
import java.io.IOException;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Says for the administrator what the empty directories of a local cluster's metadata servers are:
 * new ones, as long as nothing lies in any directory that was made by a running cluster; else lost
 * ones, which takes an explicit option. One thread, before anything is started.
 */
final class Members {
    private final ClusterDirectory cluster;
    private final Parts parts;

    Members(ClusterDirectory cluster, Parts parts) {
        this.cluster = cluster;
        this.parts = parts;
    }

    /**
     * @param join members whose directory is empty have lost it
     * @throws CommandException if one is, and nothing was said
     */
    void prepare(boolean join) throws IOException {
        Map<Part, MdsConfig> empty = new LinkedHashMap<>();
        boolean used = dataServersHaveState();
        for (Part part : parts.mds()) {
            MdsConfig config = Config.load(part.config(), MdsConfig.class);
            Content content = MemberDirectory.content(config.dataDir());
            used |= content == Content.MEMBER;
            if (content == Content.NOTHING) {
                empty.put(part, config);
            }
        }
        if (empty.isEmpty()) {
            return;
        }
        if (used && (!join || empty.size() == parts.mds().size())) {
            throw refused(empty);
        }
        for (MdsConfig config : empty.values()) {
            MdsServer.prepare(config, used ? StartWord.JOIN : StartWord.NEW_CLUSTER);
        }
    }

    private boolean dataServersHaveState() {
        return parts.data().stream()
                .map(part -> Config.load(part.config(), DataServerConfig.class))
                .anyMatch(config -> Files.exists(config.stateDir()));
    }

    private CommandException refused(Map<Part, MdsConfig> empty) {
        MdsConfig first = empty.values().iterator().next();
        boolean all = empty.size() == parts.mds().size();
        return new CommandException(
                ExitCode.CONFIGURATION,
                all
                        ? "%s is empty, and no other metadata server has the names of the files: put it back from a backup. Only where all files may be lost, remove %s and start a new cluster"
                                .formatted(first.dataDir(), cluster.path())
                        : "%s is empty, though the cluster has run: put it back, or add --join if it is lost, so that this metadata server gets everything from the others"
                                .formatted(first.dataDir()));
    }
}
