package io.cairn.mds.leader;

import io.cairn.common.time.NanoClock;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.LogEntry;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settings that all members must share: the length of the leader's lease and the feature level.
 * They are in the replicated state, so that no two members ever use different values, whatever
 * their configurations say. The leader changes them by an entry of the log, once every member has
 * reported that it is configured so, or that its version knows that level.
 *
 * <p>Why a change of the lease is safe: the leader that makes it has waited for all leases of
 * earlier terms. A shorter lease binds this leader before the entry is logged, hence before any new
 * leader waits for the shorter one only. A longer lease begins when the entry is applied here.
 * Every later leader has applied it too, and waits for it. What clients were lent under a longer
 * lease they believe until it is over: the shorter one is logged only then.
 *
 * <p>The control thread only.
 */
public final class AgreedSettings {
    private static final Logger LOG = LoggerFactory.getLogger(AgreedSettings.class);

    private final LeaderEntries entries;
    private final ControlReader state;
    private final MemberReports reports;
    private final NanoClock clock;

    /** A change has been logged in this term, and whether it was committed is not known yet. */
    private Leadership.@Nullable Term changing;

    public AgreedSettings(
            LeaderEntries entries, ControlReader state, MemberReports reports, NanoClock clock) {
        this.entries = entries;
        this.state = state;
        this.reports = reports;
        this.clock = clock;
    }

    /** The settings of a new cluster: this member's configured lease and highest feature level. */
    public ClusterSettings initial() {
        return lease().toBuilder().setFeatureLevel(reports.own().featureLevel()).build();
    }

    private ClusterSettings lease() {
        return ClusterSettings.newBuilder()
                .setLeaderLeaseNanos(reports.own().configuredLeaseNanos())
                .build();
    }

    /**
     * Logs the settings where the state has none, because an older version made it; then goes on.
     *
     * @param agreed called once, and only while this member still leads in that term
     */
    public void begin(Leadership.Term term, Runnable agreed) {
        if (state.settings().getLeaderLeaseNanos() != 0) {
            agreed.run();
            return;
        }
        submit(term, lease(), () -> begin(term, agreed));
    }

    /** Called periodically while this member may answer: changes what all members are ready for. */
    public void tick(Leadership.Term term) {
        if (term.equals(changing)) {
            return;
        }
        ClusterSettings present = state.settings();
        ClusterSettings wanted = wanted(present, reports.ofAll());
        LeaderLease lease = term.lease();
        if (wanted.equals(present)) {
            // Whatever this leader was told: others wait no longer than the state says.
            lease.use(Math.min(lease.leaseNanos(), present.getLeaderLeaseNanos()), clock.nanos());
            return;
        }
        lease.use(Math.min(lease.leaseNanos(), wanted.getLeaderLeaseNanos()), clock.nanos());
        if (!lease.longerOver(clock.nanos())) {
            return; // the next tick looks again
        }
        changing = term;
        LOG.info(
                "every member is ready: the group uses a leader's lease of {} ms and feature"
                        + " level {}",
                TimeUnit.NANOSECONDS.toMillis(wanted.getLeaderLeaseNanos()),
                wanted.getFeatureLevel());
        submit(
                term,
                // Not what an administrator sets: that may have changed meanwhile.
                ClusterSettings.newBuilder()
                        .setLeaderLeaseNanos(wanted.getLeaderLeaseNanos())
                        .setFeatureLevel(wanted.getFeatureLevel())
                        .build(),
                () -> {
                    changing = null;
                    lease.use(state.settings().getLeaderLeaseNanos(), clock.nanos());
                });
    }

    /** The settings of a group with these members. */
    static ClusterSettings wanted(
            ClusterSettings present, Collection<MemberReports.Report> members) {
        if (members.isEmpty()) {
            return present;
        }
        ClusterSettings.Builder wanted = present.toBuilder();
        long[] leases =
                members.stream()
                        .mapToLong(MemberReports.Report::configuredLeaseNanos)
                        .distinct()
                        .toArray();
        if (leases.length == 1) {
            wanted.setLeaderLeaseNanos(leases[0]);
        }
        int level = members.stream().mapToInt(MemberReports.Report::featureLevel).min().getAsInt();
        wanted.setFeatureLevel(Math.max(present.getFeatureLevel(), level));
        return wanted.build();
    }

    /** In a later term it would shorten a lease that this leader has begun to serve by. */
    private void submit(Leadership.Term term, ClusterSettings settings, Runnable committed) {
        entries.commit(
                term,
                LogEntry.newBuilder().setSettings(settings).build(),
                "the settings of the group",
                reply -> reply != null && reply.getErrno() == 0,
                committed);
    }
}
