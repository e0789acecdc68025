package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import io.cairn.common.map.Uuids;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Pool;
import io.cairn.mds.leader.AgreedSettings;
import io.cairn.mds.leader.LeaderEntries;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.FormatEntry;
import io.cairn.mds.proto.LogEntry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a new cluster: the first leader of an empty log logs the cluster's identity, its pool and
 * its root directory as the first entry. The control thread only.
 */
final class NewCluster {
    private static final Logger LOG = LoggerFactory.getLogger(NewCluster.class);

    private static final int POOL = 1;
    private static final int DEFAULT_PGS = 128;
    private static final int ROOT_MODE = Mode.DIRECTORY | 0755;

    private final MdsConfig config;
    private final AgreedSettings settings;
    private final LeaderEntries entries;
    private final ControlReader state;

    NewCluster(
            MdsConfig config, AgreedSettings settings, LeaderEntries entries, ControlReader state) {
        this.config = config;
        this.settings = settings;
        this.entries = entries;
        this.state = state;
    }

    /**
     * Tries until the cluster is formatted or the term is over.
     *
     * @param formatted called once, and only while this member still leads in that term
     */
    void format(Leadership.Term term, Runnable formatted) {
        entries.commit(
                term,
                LogEntry.newBuilder().setFormat(entry()).build(),
                "the entry that formats the new cluster",
                reply -> state.isFormatted(),
                () -> {
                    LOG.info("formatted the new cluster {}", config.clusterId());
                    formatted.run();
                });
    }

    private FormatEntry entry() {
        MdsConfig.Pool pool = config.pool();
        int chunk = (int) pool.chunkSize().bytes();
        return FormatEntry.newBuilder()
                .setClusterId(clusterId(config))
                .setPool(
                        Pool.newBuilder()
                                .setId(POOL)
                                .setName("default")
                                .setSize(pool.size())
                                .setMinSize(pool.minSizeOrDefault())
                                .setPgCount(pool.pgCount().orElse(DEFAULT_PGS))
                                .setPgAuto(pool.pgCount().isEmpty())
                                .setFailureDomain(
                                        FailureDomain.valueOf(
                                                "FAILURE_DOMAIN_" + pool.failureDomain())))
                .setLayout(
                        FileLayout.newBuilder()
                                .setPool(POOL)
                                .setStripeUnit(chunk)
                                .setStripeCount(1)
                                .setChunkSize(chunk))
                .setRootMode(ROOT_MODE)
                .setSettings(settings.initial())
                .build();
    }

    /** The cluster's identity as it is logged and as handshakes carry it. */
    static ByteString clusterId(MdsConfig config) {
        return Uuids.bytes(config.clusterUuid());
    }
}
