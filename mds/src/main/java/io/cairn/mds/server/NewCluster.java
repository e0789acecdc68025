package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Pool;
import io.cairn.mds.leader.AgreedSettings;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.FormatEntry;
import io.cairn.mds.proto.LogEntry;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a new cluster: the first leader of an empty log logs the cluster's identity, its pool and
 * its root directory as the first entry. The control thread only.
 */
final class NewCluster {
    private static final Logger LOG = LoggerFactory.getLogger(NewCluster.class);

    private static final int POOL = 1;
    private static final int ROOT_MODE = 0040755;
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final MdsConfig config;
    private final AgreedSettings settings;
    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;

    NewCluster(
            MdsConfig config,
            AgreedSettings settings,
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            Control control) {
        this.config = config;
        this.settings = settings;
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.control = control;
    }

    /**
     * Tries until the cluster is formatted or the term is over.
     *
     * @param formatted called once, and only while this member still leads in that term
     */
    void format(Leadership.Term term, Runnable formatted) {
        var _ =
                entries.submit(LogEntry.newBuilder().setFormat(entry()))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (!term.equals(leadership.term())) {
                                        return;
                                    }
                                    if (state.isFormatted()) {
                                        LOG.info(
                                                "formatted the new cluster {}", config.clusterId());
                                        formatted.run();
                                        return;
                                    }
                                    LOG.warn(
                                            "the new cluster could not be formatted yet: {}",
                                            failure == null ? reply.getDetail() : "no commit",
                                            failure);
                                    var _ =
                                            control.after(
                                                    RETRY_NANOS,
                                                    () -> formatAgain(term, formatted));
                                },
                                control);
    }

    private void formatAgain(Leadership.Term term, Runnable formatted) {
        if (term.equals(leadership.term())) {
            format(term, formatted);
        }
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
                                .setMinSize(pool.minSize())
                                .setPgCount(pool.pgCount())
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
        UUID id = config.clusterUuid();
        return ByteString.copyFrom(
                ByteBuffer.allocate(16)
                        .putLong(id.getMostSignificantBits())
                        .putLong(id.getLeastSignificantBits())
                        .flip());
    }
}
