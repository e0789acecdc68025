package io.cairn.cli.local;

import io.cairn.cli.part.MountConfig;
import io.cairn.cli.part.PartStarter;
import io.cairn.cli.part.ServerProcess;
import io.cairn.common.config.Config;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.fuse.mount.MountOptions;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.server.MdsConfig;
import java.nio.file.Path;

/** All parts of a local cluster in this process. The main thread. */
final class EmbeddedCluster {
    private final ClusterDirectory cluster;
    private final PartStarter starter;

    /**
     * @param process closes the parts
     */
    EmbeddedCluster(ClusterDirectory cluster, ServerProcess process) {
        this.cluster = cluster;
        this.starter = new PartStarter(process);
    }

    void startServers() throws Exception {
        Parts parts = cluster.parts();
        for (Part part : parts.mds()) {
            var _ = starter.mds(Config.load(part.config(), MdsConfig.class), StartWord.NONE);
        }
        for (Part part : parts.data()) {
            var _ =
                    starter.dataServer(
                            part.name(), Config.load(part.config(), DataServerConfig.class));
        }
    }

    void mount(Path mountPoint, MountOptions options) throws Exception {
        MountConfig config =
                Config.load(cluster.part(PartKind.MOUNT, 1).config(), MountConfig.class);
        starter.mount(config, mountPoint, options);
    }
}
