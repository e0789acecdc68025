package io.cairn.mds.leader;

import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.LogEntry;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all members act by is in the replicated state, whatever a member's configuration says, so
 * that no two of them ever go by different values. The leader changes it, by an entry of the log,
 * once every member of the group has told that it is configured so, or of a version that knows so
 * much.
 *
 * <p>Why a change of the lease is safe: it is made by a leader that has waited for all leases of
 * earlier terms. A shorter lease binds this leader before the entry is logged, and so before any
 * new leader waits for that one only; a longer one begins when it is applied here, and then every
 * later leader, which has applied it too, waits for it.
 *
 * <p>The control thread only.
 */
public final class AgreedSettings {
    private static final Logger LOG = LoggerFactory.getLogger(AgreedSettings.class);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final MemberReports reports;
    private final Control control;

    /** A change has been logged in this term, and whether it was committed is not known yet. */
    private Leadership.@Nullable Term changing;

    public AgreedSettings(
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            MemberReports reports,
            Control control) {
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.reports = reports;
        this.control = control;
    }

    /** What a new cluster begins with: as this member is configured, and all that it knows. */
    public ClusterSettings initial() {
        return lease().toBuilder().setFeatureLevel(reports.own().featureLevel()).build();
    }

    private ClusterSettings lease() {
        return ClusterSettings.newBuilder()
                .setLeaderLeaseNanos(reports.own().configuredLeaseNanos())
                .build();
    }

    /**
     * Sees to it that the state says what all members act by, which that of an older version does
     * not; then goes on.
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

    /** Now and then, while this member may answer: changes what all members are ready for. */
    public void tick(Leadership.Term term) {
        if (term.equals(changing)) {
            return;
        }
        ClusterSettings present = state.settings();
        ClusterSettings wanted = wanted(present, reports.ofAll());
        LeaderLease lease = term.lease();
        if (wanted.equals(present)) {
            // Whatever this leader was told: others wait no longer than the state says.
            lease.use(Math.min(lease.leaseNanos(), present.getLeaderLeaseNanos()));
            return;
        }
        lease.use(Math.min(lease.leaseNanos(), wanted.getLeaderLeaseNanos()));
        changing = term;
        LOG.info(
                "every member is ready: the group goes by a leader's lease of {} ms and feature"
                        + " level {}",
                TimeUnit.NANOSECONDS.toMillis(wanted.getLeaderLeaseNanos()),
                wanted.getFeatureLevel());
        submit(
                term,
                // Not what an administrator sets: that may have changed meanwhile.
                wanted.toBuilder().clearReaperInodesPerSecond().build(),
                () -> {
                    changing = null;
                    lease.use(state.settings().getLeaderLeaseNanos());
                });
    }

    /** What the group is to act by when these are its members. */
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
    private void again(Leadership.Term term, ClusterSettings settings, Runnable committed) {
        if (term.equals(leadership.term())) {
            submit(term, settings, committed);
        }
    }

    /** Again and again until it is committed or the term is over. */
    private void submit(Leadership.Term term, ClusterSettings settings, Runnable committed) {
        var _ =
                entries.submit(LogEntry.newBuilder().setSettings(settings))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (!term.equals(leadership.term())) {
                                        return;
                                    }
                                    if (failure == null && reply.getErrno() == 0) {
                                        committed.run();
                                        return;
                                    }
                                    LOG.warn(
                                            "the settings of the group could not be logged yet: {}",
                                            failure == null ? reply.getDetail() : "no commit",
                                            failure);
                                    var _ =
                                            control.after(
                                                    RETRY_NANOS,
                                                    () -> again(term, settings, committed));
                                },
                                control);
    }
}
