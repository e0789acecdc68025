package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.InSyncCounts;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.OrphanCount;
import io.cairn.common.proto.OrphanSummary;
import io.cairn.common.proto.Server;
import io.cairn.mds.background.OrphanRemoval;
import io.cairn.mds.background.Reaper;
import io.cairn.mds.background.TruncationWaits;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.metrics.MdsMeter;
import io.cairn.mds.namespace.MetaState;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.session.Mutations;
import java.util.function.Function;

/** Publishes the current values. Any thread. */
final class MdsGauges {
    private final Meters meters;
    private final Leadership leadership;
    private final MetaState state;
    private final CurrentMap map;
    private final Mutations mutations;
    private final Reaper reaper;
    private final OrphanRemoval orphans;
    private final TruncationWaits truncationWaits;
    private final MetaLog log;

    MdsGauges(
            Meters meters,
            Leadership leadership,
            MetaState state,
            CurrentMap map,
            Mutations mutations,
            Reaper reaper,
            OrphanRemoval orphans,
            TruncationWaits truncationWaits,
            MetaLog log) {
        this.meters = meters;
        this.leadership = leadership;
        this.state = state;
        this.map = map;
        this.mutations = mutations;
        this.reaper = reaper;
        this.orphans = orphans;
        this.truncationWaits = truncationWaits;
        this.log = log;
    }

    void register() {
        meters.gauge(MdsMeter.SESSIONS, () -> state.sessions().size());
        meters.gauge(MdsMeter.APPEND_WAITING, mutations.appendTurns()::waiting);
        meters.gauge(MdsMeter.LOCKS, this::locks);
        meters.gauge(MdsMeter.LOCK_WAITING, mutations.lockWaits()::waiting);
        meters.gauge(MdsMeter.READ_OPENS, mutations.readOpens()::count);
        meters.gauge(MdsMeter.RECLAIMS_AWAITED, mutations.readOpens()::awaited);
        meters.gauge(MdsMeter.DELEGATIONS, mutations.delegations()::count);
        meters.gauge(MdsMeter.READ_LEASES, mutations.readLeases()::held);
        meters.gauge(MdsMeter.INODES, () -> state.counters().inodesUsed());
        meters.gauge(MdsMeter.DELETION_BACKLOG, () -> state.counters().deletionInodes());
        meters.gauge(MdsMeter.DELETION_BACKLOG_BYTES, () -> state.counters().deletionBytes());
        meters.gauge(MdsMeter.DELETION_RATE, reaper::rate);
        meters.gauge(MdsMeter.DELETION_ETA, reaper::etaSeconds);
        orphans("suspected", OrphanSummary::getSuspected);
        orphans("proven", OrphanSummary::getProven);
        orphans("kept", OrphanSummary::getKept);
        orphans("strange", OrphanSummary::getStrange);
        orphans("removing", OrphanSummary::getRemoving);
        meters.gauge(MdsMeter.TRUNCATION_WAITS, truncationWaits::depth);
        meters.gauge(MdsMeter.MAP_EPOCH, () -> map.get().epoch());
        meters.counter(MdsMeter.MAP_PUSHED, map::pushedBytes);
        meters.counter(MdsMeter.MAP_WHOLE, map::wholeMaps);
        meters.gauge(
                MdsMeter.SERVERS_UP,
                () -> map.get().servers().stream().filter(Server::getUp).count());
        meters.gauge(MdsMeter.PGS_DEGRADED, () -> inSync().degraded());
        meters.gauge(MdsMeter.PGS_BELOW_MINIMUM, () -> inSync().belowMinimum());
        meters.gauge(
                MdsMeter.PGS_TO_SPLIT,
                () ->
                        map.get().pools().stream()
                                .mapToInt(p -> ClusterMap.targetOf(p) - p.getPgCount())
                                .filter(more -> more > 0)
                                .sum());
        meters.gauge(
                MdsMeter.PGS_TO_MERGE,
                () ->
                        map.get().pools().stream()
                                .mapToInt(p -> p.getPgCount() - ClusterMap.targetOf(p))
                                .filter(fewer -> fewer > 0)
                                .sum());
        meters.gauge(MdsMeter.DISKS_NEAR_FULL, () -> disks(Fill.FILL_NEAR_FULL));
        meters.gauge(MdsMeter.DISKS_FULL, () -> disks(Fill.FILL_FULL));
        meters.gauge(MdsMeter.POOLS_NEAR_FULL, () -> pools(Fill.FILL_NEAR_FULL));
        meters.gauge(MdsMeter.POOLS_FULL, () -> pools(Fill.FILL_FULL));
        meters.gauge(MdsMeter.LEADING, () -> leadership.refusal() == null ? 1 : 0);
        meters.gauge(MdsMeter.RAFT_TERM, leadership::newestTerm);
        meters.gauge(MdsMeter.RAFT_COMMITTED, () -> log.stats().committed());
        meters.gauge(
                MdsMeter.RAFT_APPLY_LAG,
                () -> {
                    MetaLog.Stats stats = log.stats();
                    return Math.max(0, stats.committed() - stats.applied());
                });
        meters.gauge(MdsMeter.RAFT_LOG_SIZE, () -> log.stats().logBytes());
        meters.gauge(
                MdsMeter.RAFT_SINCE_CHECKPOINT,
                () -> {
                    MetaLog.Stats stats = log.stats();
                    return Math.max(0, stats.applied() - stats.checkpoint());
                });
        meters.gauge(MdsMeter.RAFT_DISK_FREE, () -> log.space().freeBytes());
        meters.gauge(MdsMeter.RAFT_REFUSED, () -> log.stats().refused());
    }

    private void orphans(String state, Function<OrphanSummary, OrphanCount> of) {
        meters.gauge(MdsMeter.ORPHANS, () -> of.apply(orphans.summary()).getInodes(), state);
        meters.gauge(MdsMeter.ORPHAN_BYTES, () -> of.apply(orphans.summary()).getBytes(), state);
    }

    private long disks(Fill atLeast) {
        return map.get().disks().stream().filter(d -> d.getFill().compareTo(atLeast) >= 0).count();
    }

    private long pools(Fill atLeast) {
        return map.get().pools().stream().filter(p -> p.getFill().compareTo(atLeast) >= 0).count();
    }

    private long locks() {
        return state.sessions().stream().mapToLong(SessionRecord::getLocks).sum();
    }

    private InSyncCounts inSync() {
        ClusterMap present = map.get();
        return InSyncCounts.of(present.pgs(), present.pools());
    }
}
