package io.cairn.mds.server;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.SessionStatus;
import io.cairn.common.proto.StatFsReply;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rocks.Remarks;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.background.OrphanRemoval;
import io.cairn.mds.background.Reaper;
import io.cairn.mds.cluster.Copies;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.DataServers;
import io.cairn.mds.cluster.MixedReleases;
import io.cairn.mds.cluster.PgTables;
import io.cairn.mds.cluster.ServerLeases;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.FillLimits;
import io.cairn.mds.leader.Held;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.NamespaceReader;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.SpaceWatch;
import io.cairn.mds.session.ClientSession;
import io.cairn.mds.session.ReadOpens;
import io.cairn.mds.session.SessionTable;
import io.cairn.mds.store.Counters;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What {@code cairn status} and statfs are told. Any thread. */
final class Status {
    /** Inodes are limited by the metadata disk; this is what statfs calls free. */
    private static final long INODES_FREE = 1L << 40;

    private final Leadership leadership;
    private final GroupStatus group;
    private final EntryLog entries;
    private final ControlReader state;
    private final NamespaceReader namespace;
    private final SessionTable sessions;
    private final ReadOpens readOpens;
    private final CurrentMap map;
    private final DataServers dataServers;
    private final Supplier<Held> held;
    private final Reaper reaper;
    private final OrphanRemoval orphans;
    private final MixedReleases releases;
    private final Control control;
    private final NanoClock clock;
    private final int bootstrapDisks;
    private final Supplier<Remarks> own;

    /**
     * @param held what an administrator holds back
     * @param bootstrapDisks as configured: so many must register before a PG table is made
     * @param own what the administrator should know of this member
     */
    Status(
            Leadership leadership,
            GroupStatus group,
            EntryLog entries,
            ControlReader state,
            NamespaceReader namespace,
            SessionTable sessions,
            ReadOpens readOpens,
            CurrentMap map,
            DataServers dataServers,
            Supplier<Held> held,
            Reaper reaper,
            OrphanRemoval orphans,
            MixedReleases releases,
            Control control,
            NanoClock clock,
            int bootstrapDisks,
            Supplier<Remarks> own) {
        this.leadership = leadership;
        this.group = group;
        this.entries = entries;
        this.state = state;
        this.namespace = namespace;
        this.sessions = sessions;
        this.readOpens = readOpens;
        this.map = map;
        this.dataServers = dataServers;
        this.held = held;
        this.reaper = reaper;
        this.orphans = orphans;
        this.releases = releases;
        this.control = control;
        this.clock = clock;
        this.bootstrapDisks = bootstrapDisks;
        this.own = own;
    }

    /**
     * Usable space after replication. Every PG fills at the same rate, so the disk with the least
     * room for the share of PGs it holds ends it for all: capacity and free space are that disk's,
     * scaled up to the cluster. A data file that its file system has no room for is as large as
     * what is used of it and what can be had: so what is used is exact, whoever else takes space. A
     * disk that is away and in no in-sync set limits nothing: its PGs are written without it.
     * Available is what can be written until such a disk is full by the threshold of some pool that
     * has it: the rest is kept for recovery, as other file systems keep some for root.
     */
    StatFsReply space() {
        ClusterMap present = map.get();
        Map<Integer, Integer> pgsOfDisk = new HashMap<>();
        Set<Integer> inSync = new HashSet<>();
        for (PlacementGroup pg : present.pgs()) {
            pg.getReplicasList().forEach(d -> pgsOfDisk.merge(d, 1, Integer::sum));
            inSync.addAll(pg.getInSyncList());
        }
        Map<Integer, DiskStatus> reported = new HashMap<>();
        dataServers
                .all()
                .values()
                .forEach(
                        known -> known.report().disks().forEach(d -> reported.put(d.getDisk(), d)));
        int pgs = present.pgs().size();
        long capacity = pgs == 0 ? 0 : Long.MAX_VALUE;
        long free = capacity;
        long available = capacity;
        Map<Integer, Integer> fullPercent = fullPercent(present);
        for (Map.Entry<Integer, Integer> e : pgsOfDisk.entrySet()) {
            @Nullable Disk disk = present.disk(e.getKey());
            @Nullable DiskStatus now = reported.get(e.getKey());
            boolean out = now != null && now.getCondition() == DiskCondition.DISK_OUT;
            if ((out || !isUp(present, disk)) && !inSync.contains(e.getKey())) {
                continue;
            }
            double share = (double) e.getValue() / pgs;
            long total =
                    now != null && now.getCapacityBytes() > 0 && !out
                            ? now.getUsedBytes() + now.getFreeBytes()
                            : disk == null ? 0 : disk.getCapacityBytes();
            capacity = Math.min(capacity, (long) (total / share));
            if (out) {
                free = 0;
            } else if (now != null) {
                free = Math.min(free, (long) (now.getFreeBytes() / share));
                double upTo = total * (fullPercent.getOrDefault(e.getKey(), 100) / 100.0);
                available =
                        Math.min(
                                available, (long) (Math.max(0, upTo - now.getUsedBytes()) / share));
            } else if (!isUp(present, disk)) {
                free = 0;
            } // else it was not heard of by this leader yet: it does not count
        }
        return StatFsReply.newBuilder()
                .setCapacityBytes(capacity)
                .setFreeBytes(Math.min(free, capacity))
                .setAvailableBytes(Math.min(available, Math.min(free, capacity)))
                .setInodesUsed(namespace.counters().inodesUsed())
                .setInodesFree(INODES_FREE)
                .build();
    }

    /** Of each disk, from where on no pool that has it takes new data; 0: it does not now. */
    private Map<Integer, Integer> fullPercent(ClusterMap present) {
        Map<Integer, Integer> percent = new HashMap<>();
        if (Features.level(state.settings()) < Features.GROWTH) {
            return percent;
        }
        FillLimits limits = FillLimits.of(state.settings());
        Map<Integer, Integer> ofPool = new HashMap<>();
        for (Pool pool : present.pools()) {
            boolean full = pool.getFill() == Fill.FILL_FULL;
            ofPool.put(pool.getId(), full ? 0 : limits.of(pool).full());
        }
        for (PlacementGroup pg : present.pgs()) {
            int most = ofPool.getOrDefault(PgHash.poolOf(pg.getPg()), 0);
            pg.getReplicasList().forEach(d -> percent.merge(d, most, Math::max));
        }
        return percent;
    }

    private static boolean isUp(ClusterMap map, @Nullable Disk disk) {
        @Nullable Server server = disk == null ? null : map.server(disk.getServer());
        return server != null && server.getUp();
    }

    StatusReply report() {
        long now = clock.nanos();
        Counters counters = namespace.counters();
        ClusterMap present = map.get();
        Copies copies = dataServers.copies();
        StatusReply.Builder reply =
                StatusReply.newBuilder()
                        .setClusterId(state.clusterId())
                        .setLeader(leadership.leader())
                        .setTerm(leadership.newestTerm())
                        .addAllMembers(leadership.members())
                        .addAllMemberStatus(group.members())
                        .setLeaderLeaseMillis(
                                TimeUnit.NANOSECONDS.toMillis(
                                        state.settings().getLeaderLeaseNanos()))
                        .setFeatureLevel(Features.level(state.settings()))
                        .setMap(present.present())
                        .setDeletionBacklogInodes(counters.deletionInodes())
                        .setDeletionBacklogBytes(counters.deletionBytes())
                        .setDeletionRate(reaper.rate())
                        .setDeletionEtaSeconds(reaper.etaSeconds())
                        .setDeletionLimit(reaper.limit())
                        .setSpace(space())
                        .setOrphans(orphans.summary())
                        .setReplicasToCopy(copies.replicasLeft())
                        .setBytesToCopy(copies.bytesLeft())
                        .setCopyRate(copies.perSecond())
                        .setCopyEtaSeconds(copies.etaSeconds());
        for (SessionRecord record : state.sessions()) {
            reply.addSessions(session(record, now));
        }
        dataServers
                .all()
                .forEach((id, known) -> {
                    @Nullable Server server = present.server(id);
                    if (server != null) {
                        reply.addServers(server(server, known, now));
                    }
                });
        return reply.addAllWarnings(warnings(present)).addAllNotes(notes()).build();
    }

    private ServerStatus server(Server server, ServerLeases.Known known, long now) {
        ServerStatus.Builder status =
                ServerStatus.newBuilder()
                        .setServer(server.getId())
                        .setSinceHeartbeatMillis(
                                TimeUnit.NANOSECONDS.toMillis(
                                        Math.max(0, now - known.answeredNanos())))
                        .addAllDisks(known.report().disks().stream().map(this::disk).toList())
                        .setRelease(known.report().release());
        @Nullable PgReport pgs = known.report().pgs();
        @Nullable ScrubReport scrub = known.report().scrub();
        if (server.getUp()) { // of one that is down they do not hold any more
            if (pgs != null) {
                status.setPgs(pgs);
            }
            if (scrub != null) {
                status.setScrub(scrub);
            }
        }
        return status.build();
    }

    /** With why it is slow, if it is. */
    private DiskStatus disk(DiskStatus reported) {
        @Nullable String slow = dataServers.slowDisks().get(reported.getDisk());
        return slow == null || reported.getCondition() == DiskCondition.DISK_OUT
                ? reported
                : reported.toBuilder()
                        .setCause(slow)
                        .setNextStep(DataServerRemarks.nextStep(reported.getDisk()))
                        .build();
    }

    private List<String> notes() {
        List<String> notes = new ArrayList<>(group.notes());
        notes.addAll(DataServerRemarks.notes(map.get(), dataServers.all()));
        notes.addAll(PlacementRemarks.notes(map.get()));
        notes.addAll(OrphanRemarks.notes(orphans.summary()));
        String self = group.name(leadership.self());
        own.get().notes().forEach(n -> notes.add(self + ": " + n));
        return notes;
    }

    private SessionStatus session(SessionRecord record, long now) {
        SessionStatus.Builder status =
                SessionStatus.newBuilder()
                        .setSession(record.getSession())
                        .setDescription(record.getDescription())
                        .setAddress(record.getAddress())
                        .setAgeMillis(
                                Math.max(
                                        0,
                                        Instant.now().toEpochMilli()
                                                - record.getOpened().getSeconds() * 1000))
                        .setOpenFiles(record.getOpenFiles() + readOpens.count(record.getSession()))
                        .setLocks(record.getLocks())
                        .setRefused(record.getRefused())
                        .setEnding(record.getEnding());
        @Nullable ClientSession live = sessions.get(record.getSession());
        if (live != null) {
            status.setSinceRenewalMillis((now - live.renewedNanos()) / 1_000_000)
                    .setRelease(live.release());
        }
        return status.build();
    }

    private List<String> warnings(ClusterMap present) {
        List<String> warnings = new ArrayList<>();
        if (leadership.refusal() != null) {
            warnings.add(
                    leadership.term() == null
                            ? "this member does not lead; what it says may be old"
                            : "the leader has no contact to a majority");
        }
        warnings.addAll(group.warnings());
        DiskLoads loads = DiskLoads.of(present.pgs());
        for (Server server : present.servers()) {
            if (!server.getUp() && !loads.isServerDrained(server.getId(), present.disks())) {
                warnings.add("data server " + server.getId() + " is down");
            }
        }
        warnings.addAll(PgTables.warnings(present, bootstrapDisks));
        warnings.addAll(PlacementRemarks.warnings(held.get(), present, dataServers.withheld()));
        warnings.addAll(InSyncRemarks.warnings(present, dataServers.all()));
        warnings.addAll(
                DataServerRemarks.warnings(present, dataServers.all(), dataServers.slowDisks()));
        warnings.addAll(ScrubRemarks.warnings(present, dataServers.all(), held.get().noScrub()));
        warnings.addAll(OrphanRemarks.warnings(orphans.summary(), orphans.older()));
        warnings.addAll(
                FillRemarks.warnings(present, dataServers.all(), FillLimits.of(state.settings())));
        StatFsReply space = space();
        boolean said = present.pools().stream().anyMatch(p -> p.getFill() != Fill.FILL_NORMAL);
        if (!said
                && space.getCapacityBytes() > 0
                && space.getFreeBytes() < space.getCapacityBytes() / 20) {
            warnings.add("less than 5 % of the space is free");
        }
        String self = group.name(leadership.self());
        @Nullable MetaLog log = entries.log();
        if (log != null && log.space().level() != SpaceWatch.Level.PLENTY) {
            warnings.add(
                    "until the Raft log of the leader has room, only deletions and opens are taken");
        }
        own.get().warnings().forEach(w -> warnings.add(self + ": " + w));
        warnings.addAll(releases.warnings());
        if (control.failedTasks() > 0) {
            warnings.add(
                    "%d tasks of the leader's control thread failed: a fault, see the log of member %d; restarting it lets another member lead"
                            .formatted(control.failedTasks(), leadership.self()));
        }
        return warnings;
    }
}
