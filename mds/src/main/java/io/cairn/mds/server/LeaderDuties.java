package io.cairn.mds.server;

import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.background.FenceWatch;
import io.cairn.mds.background.ForgottenSessions;
import io.cairn.mds.background.NamelessInodes;
import io.cairn.mds.background.OrphanLooks;
import io.cairn.mds.background.OrphanRemoval;
import io.cairn.mds.background.OrphanRequests;
import io.cairn.mds.background.Reaper;
import io.cairn.mds.background.TruncationWaits;
import io.cairn.mds.background.Truncator;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.DataServers;
import io.cairn.mds.cluster.MapChanges;
import io.cairn.mds.cluster.MembersInMap;
import io.cairn.mds.cluster.MixedReleases;
import io.cairn.mds.cluster.PgCalls;
import io.cairn.mds.cluster.PgTables;
import io.cairn.mds.cluster.Placement;
import io.cairn.mds.cluster.ServerLeases;
import io.cairn.mds.leader.AgreedSettings;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.GroupChanges;
import io.cairn.mds.leader.Held;
import io.cairn.mds.leader.LeaderEntries;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.LeaseKeeper;
import io.cairn.mds.leader.LiveSettings;
import io.cairn.mds.leader.MemberReports;
import io.cairn.mds.lease.LeasedReplies;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.MetaState;
import io.cairn.mds.session.ClientSessions;
import io.cairn.mds.session.Mutations;
import io.cairn.mds.session.ReadOpenRequests;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Everything that works only while this member leads, and what happens on becoming leader: a new
 * cluster is formatted, each part begins with what the state holds, and only then are requests
 * answered. Made with the server and kept by every member; begins and ends on the control thread.
 */
final class LeaderDuties implements Leadership.Duties {
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long ORDER_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Leadership leadership;
    private final MetaState state;
    private final Control control;
    private final NewCluster newCluster;
    private final LeaseKeeper leases;
    private final GroupChanges groupChanges;
    private final MembersInMap membersInMap;
    private final AgreedSettings settings;
    private final LiveSettings liveSettings;
    private final CurrentMap map;
    private final MapChanges changes;
    private final PgTables pgTables;
    private final DataServers dataServers;
    private final Mutations mutations;
    private final ClientSessions sessions;
    private final ForgottenSessions forgotten;
    private final Reaper reaper;
    private final Truncator truncator;
    private final TruncationWaits truncationWaits;
    private final OrphanLooks orphanLooks;
    private final OrphanRemoval orphanRemoval;
    private final OrphanRequests orphanRequests;
    private final FenceWatch fences;
    private final ReadOpenRequests readOpens;
    private final NamelessInodes nameless;
    private final MixedReleases releases;
    private @Nullable ScheduledFuture<?> ticks;

    /** Makes the parts and lets those follow the state that must. */
    LeaderDuties(
            MdsConfig config,
            Leadership leadership,
            MemberReports reports,
            EntryLog entries,
            MetaState state,
            RpcClient client,
            Control control,
            Control leaseThread,
            NanoClock clock,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.state = state;
        this.control = control;
        LeaderEntries own = new LeaderEntries(leadership, entries, control);
        settings = new AgreedSettings(own, state, reports, clock);
        liveSettings =
                new LiveSettings(
                        leadership,
                        entries,
                        state,
                        control,
                        config.background().reaperInodesPerSecond());
        newCluster = new NewCluster(config, settings, own, state);
        leases = new LeaseKeeper(leadership, client, leaseThread, clock, entries, reports);
        groupChanges = new GroupChanges(leadership, leases, reports, entries, state, control);
        map = new CurrentMap(state, leadership, control);
        changes = new MapChanges(entries, state, control);
        membersInMap = new MembersInMap(leadership, map, changes);
        pgTables = new PgTables(changes, control, config.dataServers().bootstrapDisks());
        dataServers =
                new DataServers(
                        leadership,
                        map,
                        changes,
                        pgTables,
                        clock,
                        config.dataServers().lease(),
                        new Placement.Times(
                                config.dataServers().downOutInterval(),
                                config.dataServers().failedOutInterval()),
                        config.dataServers().slowDiskInterval(),
                        this::held,
                        () -> Features.level(state.settings()),
                        state);
        mutations = new Mutations(leadership, entries, state, control, clock, metrics);
        long expiryNanos = config.sessions().expiry().toNanos();
        sessions =
                new ClientSessions(
                        leadership,
                        entries,
                        state,
                        mutations.sessions(),
                        mutations.readOpens(),
                        mutations.delegations(),
                        mutations.appendTurns(),
                        map,
                        dataServers,
                        control,
                        clock,
                        new ClientSessions.SessionTimes(
                                config.sessions().renewInterval().toNanos(), expiryNanos),
                        metrics);
        forgotten = new ForgottenSessions(state, map, changes, expiryNanos, clock);
        PgCalls calls = new PgCalls(map, client, control);
        reaper =
                new Reaper(
                        entries,
                        state,
                        state,
                        calls,
                        map,
                        control,
                        clock,
                        metrics,
                        liveSettings::reaperRate);
        truncator = new Truncator(entries, state, calls, map, control, metrics);
        truncationWaits =
                new TruncationWaits(
                        leadership, state, mutations.sessions(), truncator, control, metrics);
        orphanLooks = new OrphanLooks(leadership, map, state, mutations, entries, control, clock);
        orphanRemoval = new OrphanRemoval(entries, state, control, clock, orphanLooks::newerEpoch);
        orphanRequests = new OrphanRequests(leadership, entries, state, orphanRemoval, control);
        fences = new FenceWatch(entries, state, clock);
        readOpens =
                new ReadOpenRequests(
                        leadership,
                        state,
                        state,
                        mutations.sessions(),
                        mutations.readOpens(),
                        new LeasedReplies(
                                mutations.readLeases(), mutations.sizes()::isWrittenBeside),
                        mutations.delegations(),
                        mutations.sizes());
        nameless = new NamelessInodes(entries, state, mutations.readOpens(), control);
        releases =
                new MixedReleases(
                        () -> releases(reports),
                        clock,
                        config.warnings().mixedReleasesAfter().toNanos());
        state.addListener(map);
        state.addListener(mutations.sessions());
        state.addListener(mutations.appendTurns());
        state.addListener(mutations.lockWaits());
        state.addListener(mutations.readOpens());
        state.addListener(nameless);
        state.addListener(mutations.readLeases()); // after the sessions
        state.watch(mutations.readLeases());
        state.addListener(mutations.delegations()); // after the sessions
        state.addListener(mutations.sizes()); // after the sessions
        state.addListener(truncator);
        state.addListener(fences);
        state.addListener(truncationWaits); // after the sessions
        state.addListener(orphanRemoval);
    }

    // ---- on becoming leader, and when it is over ----------------------------

    @Override
    public void begin(Leadership.Term term) {
        end();
        leases.begin(term);
        if (state.isFormatted()) {
            settings.begin(term, () -> beginFormatted(term));
        } else {
            newCluster.format(term, () -> beginFormatted(term));
        }
    }

    private void beginFormatted(Leadership.Term term) {
        groupChanges.reset();
        membersInMap.begin();
        dataServers.begin(term);
        mutations.begin(term.number());
        sessions.begin();
        forgotten.begin();
        reaper.begin(term);
        truncator.begin();
        orphanRemoval.begin();
        fences.begin();
        nameless.begin();
        pgTables.begin();
        releases.reset();
        ticks = control.every(TICK_NANOS, () -> tick(term));
        leadership.open(term);
    }

    private void tick(Leadership.Term term) {
        mutations.expire(ORDER_WAIT_NANOS);
        truncationWaits.tick();
        mutations.readLeases().tick();
        mutations.delegations().tick();
        mutations.sizes().tick();
        if (leadership.refusal() == null) {
            settings.tick(term);
            groupChanges.tick(term);
            if (Features.level(state.settings()) >= Features.MEMBERSHIP) {
                membersInMap.tick();
            }
            dataServers.tick();
            sessions.tick();
            forgotten.tick();
            mutations.appendTurns().tick();
            orphanRemoval.tick();
            fences.tick();
            mutations.lockWaits().tick();
            releases.tick();
        }
    }

    /** What an administrator holds back. Any thread. */
    Held held() {
        return Held.of(state.settings());
    }

    /** Of members that answer and data servers that are up. */
    private Map<String, String> releases(MemberReports reports) {
        Map<String, String> releases = new LinkedHashMap<>();
        for (MdsMember member : leadership.members()) {
            MemberReports.@Nullable Report told = reports.of(member.getId());
            releases.put("mds-" + member.getId(), told == null ? "" : told.release());
        }
        Map<Integer, ServerLeases.Known> heard = dataServers.all();
        for (Server server : map.get().servers()) {
            ServerLeases.@Nullable Known known = heard.get(server.getId());
            if (server.getUp() && known != null) {
                releases.put("data-" + server.getId(), known.report().release());
            }
        }
        return releases;
    }

    @Override
    public void end() {
        leases.end();
        groupChanges.reset();
        reaper.end();
        truncator.end();
        fences.end();
        nameless.end();
        truncationWaits.end();
        pgTables.end();
        changes.end();
        mutations.end();
        releases.reset();
        @Nullable ScheduledFuture<?> running = ticks;
        if (running != null) {
            running.cancel(false);
            ticks = null;
        }
    }

    // ---- the parts that requests and the status reach -----------------------

    CurrentMap map() {
        return map;
    }

    MapChanges changes() {
        return changes;
    }

    DataServers dataServers() {
        return dataServers;
    }

    Mutations mutations() {
        return mutations;
    }

    ClientSessions sessions() {
        return sessions;
    }

    GroupChanges groupChanges() {
        return groupChanges;
    }

    LiveSettings liveSettings() {
        return liveSettings;
    }

    Reaper reaper() {
        return reaper;
    }

    OrphanLooks orphanLooks() {
        return orphanLooks;
    }

    OrphanRemoval orphanRemoval() {
        return orphanRemoval;
    }

    OrphanRequests orphanRequests() {
        return orphanRequests;
    }

    MixedReleases releases() {
        return releases;
    }

    ReadOpenRequests readOpens() {
        return readOpens;
    }

    TruncationWaits truncationWaits() {
        return truncationWaits;
    }
}
