package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.mds.map.MapChecks;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The log of the metadata service as its users see it: a leader for each term, elected by a
 * majority; an entry of an older term may be lost or not. What is applied is the real map.
 */
final class SimRaft {
    private static final long COMMIT = 30 * MILLI;
    private static final long SLOW_COMMIT = 1500 * MILLI;
    private static final long ELECTION = 800 * MILLI;
    private static final long FORGOTTEN_AFTER = 2000 * MILLI;

    private final ClusterSim cluster;
    private final Map<Long, Long> evictions = new TreeMap<>();
    private final Map<Long, Gone> gone = new TreeMap<>();
    private final Set<Long> everRefused = new HashSet<>();
    private final Set<Long> deletions = new TreeSet<>();
    private final Set<Long> unused = new HashSet<>();
    private final SimFiles files = new SimFiles();
    private final List<Entry> pending = new ArrayList<>();
    private ClusterMap map;
    private long term;
    private long lastElection;
    private long slowUntil;

    /** A session that is gone for good, which the map refuses since the epoch. */
    private record Gone(long epoch, long since) {}

    /** In a leader's log, and not committed. */
    private static final class Entry {
        final SimMdsMember by;
        final Supplier<Runnable> apply;
        boolean over;

        Entry(SimMdsMember by, Supplier<Runnable> apply) {
            this.by = by;
            this.apply = apply;
        }
    }

    SimRaft(ClusterSim cluster, MapUpdate first) {
        this.cluster = cluster;
        map = ClusterMap.of(first);
    }

    ClusterMap map() {
        return map;
    }

    /** Sessions that are being evicted, with the map epoch that refuses them. */
    Map<Long, Long> evictions() {
        return evictions;
    }

    /** Whether the session was evicted, long ago perhaps. */
    boolean isOver(long session) {
        return everRefused.contains(session);
    }

    /** The sessions that have been gone for a while are refused by the map no more. */
    MapUpdate.@Nullable Builder forgetting(ClusterMap base) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        gone.forEach((session, g) -> {
            if (base.refused(session) && cluster.sim.now() - g.since > FORGOTTEN_AFTER) {
                update.addForgottenSessions(session)
                        .setSessionFloor(Math.max(update.getSessionFloor(), g.epoch + 1));
            }
        });
        return update.getForgottenSessionsCount() == 0 ? null : update;
    }

    /** Inodes that nobody uses any more, and of which there may be chunks. */
    Set<Long> deletions() {
        return deletions;
    }

    /** Whether nobody uses the inode any more. */
    boolean isUnused(long inode) {
        return unused.contains(inode);
    }

    void delete(long inode) {
        unused.add(inode);
        deletions.add(inode);
    }

    void deleted(SimMdsMember by, long inTerm, long inode) {
        commit(
                by,
                inTerm,
                () -> {
                    deletions.remove(inode);
                    return () -> {};
                });
    }

    SimFiles files() {
        return files;
    }

    void truncate(SimMdsMember by, long inTerm, SimHistory.Op op) {
        commit(
                by,
                inTerm,
                () -> {
                    files.truncate(op);
                    return () -> {};
                });
    }

    void truncated(SimMdsMember by, long inTerm, long inode, long sequence) {
        commit(
                by,
                inTerm,
                () -> {
                    files.applied(inode, sequence);
                    return () -> {};
                });
    }

    /** Its disks are slow for so long. */
    void slow(long nanos) {
        slowUntil = cluster.sim.now() + nanos;
    }

    @Nullable SimMdsMember leader() {
        return cluster.mds.stream().filter(m -> m.isUp() && m.leads(term)).findFirst().orElse(null);
    }

    /** Elects another leader when there is none, or the one there is does not reach a majority. */
    void watch() {
        @Nullable SimMdsMember leader = leader();
        boolean leads = leader != null && leader.runs() && reaches(leader);
        if (leads) {
            lastElection = cluster.sim.now();
        } else if (cluster.sim.now() - lastElection > ELECTION) {
            elect();
        }
        cluster.sim.after(cluster.sim.upTo(200 * MILLI), this::watch);
    }

    void elect() {
        List<SimMdsMember> able =
                new ArrayList<>(cluster.mds.stream().filter(m -> m.runs() && reaches(m)).toList());
        if (able.isEmpty()) {
            return;
        }
        SimMdsMember candidate = able.get(cluster.sim.random.nextInt(able.size()));
        lastElection = cluster.sim.now();
        long next = term + 1;
        List<SimMdsMember> voters =
                cluster.mds.stream().filter(m -> m.runs() && exchange(candidate, m)).toList();
        if (voters.size() * 2 > cluster.mds.size()) {
            term = next;
            voters.forEach(v -> v.vote(next));
            inherit();
            candidate.lead(next);
        }
    }

    /** What the new leader has in its log of the terms before, it applies before it serves. */
    private void inherit() {
        List<Entry> before = List.copyOf(pending);
        pending.clear();
        for (Entry entry : before) {
            entry.over = true;
            if (cluster.sim.random.nextBoolean()) {
                var _ = entry.apply.get();
            }
        }
    }

    private boolean reaches(SimMdsMember from) {
        long reached = cluster.mds.stream().filter(m -> m.runs() && exchange(from, m)).count();
        return reached * 2 > cluster.mds.size();
    }

    private boolean exchange(SimMdsMember a, SimMdsMember b) {
        return a == b || (!cluster.network.isCut(a, b) && !cluster.network.isCut(b, a));
    }

    /**
     * @param then in the life of the proposer that proposed, if it was committed in that term
     */
    void propose(
            SimMdsMember by,
            long inTerm,
            Function<ClusterMap, MapUpdate.@Nullable Builder> edit,
            Runnable then) {
        ClusterMap base = map;
        MapUpdate.@Nullable Builder made = edit.apply(base);
        if (made == null) {
            then.run();
            return;
        }
        MapUpdate update = made.setBaseEpoch(base.epoch()).setEpoch(base.epoch() + 1).build();
        Runnable again =
                by.process()
                        .only(() -> {
                            if (by.leads(inTerm)) {
                                propose(by, inTerm, edit, then);
                            }
                        });
        Runnable done = by.process().only(then);
        commit(
                by,
                inTerm,
                () -> {
                    if (map.epoch() != update.getBaseEpoch()) {
                        return again;
                    }
                    apply(update);
                    return done;
                });
    }

    /** The refused session is gone for good: what it held may be given to others. */
    void release(SimMdsMember by, long inTerm, long session) {
        commit(
                by,
                inTerm,
                () -> {
                    @Nullable Long epoch = evictions.remove(session);
                    if (epoch != null) {
                        gone.put(session, new Gone(epoch, cluster.sim.now()));
                        cluster.history.released(session);
                    }
                    return () -> {};
                });
    }

    private void commit(SimMdsMember by, long inTerm, Supplier<Runnable> apply) {
        if (inTerm == term) {
            Entry entry = new Entry(by, apply);
            pending.add(entry);
            commit(entry);
        }
    }

    private void commit(Entry entry) {
        cluster.sim.after(
                cluster.sim.upTo(cluster.sim.now() < slowUntil ? SLOW_COMMIT : COMMIT),
                () -> {
                    if (entry.over) {
                        return;
                    }
                    if (entry.by.isUp() && reaches(entry.by)) {
                        pending.remove(entry);
                        entry.over = true;
                        entry.apply.get().run();
                    } else {
                        commit(entry); // it waits for a majority, or for another leader
                    }
                });
    }

    private void apply(MapUpdate update) {
        @Nullable String objection = MapChecks.objection(map, update);
        if (objection != null) {
            throw new AssertionError("the map cannot become so: " + objection);
        }
        ClusterMap before = map;
        map = map.with(update);
        cluster.checkLeases();
        cluster.history.mapChanged(before, map);
        update.getRefusedSessionsList().forEach(s -> evictions.put(s, map.epoch()));
        everRefused.addAll(update.getRefusedSessionsList());
        update.getForgottenSessionsList().forEach(gone::remove);
        @Nullable SimMdsMember leader = leader();
        if (leader != null) {
            leader.mapChanged(before, map);
        }
    }
}
