package io.cairn.mds.cluster;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.PgPlanner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where placement groups are to live: gives them the replicas that {@link PgPlanner} wants, a few
 * at a time, whenever disks have come, are drained, or are away for good.
 *
 * <p>A group that moves keeps its members in sync until all of its new replicas are, which learn
 * meanwhile; then the others leave ({@link InSyncSets}). So a move never lowers the number of
 * copies, and one that is overtaken by another plan costs nothing but what was copied.
 *
 * <p>A disk is <i>absent</i> when its server is down, or has released it, for longer than an
 * interval: what it had is placed elsewhere then. It is no more when it is back. No disk becomes
 * absent when a pool would have too few failure domains left, or when more than a quarter of all
 * disks would be, of more than one server: then it is rather a network or a rack that failed, and
 * copying everything would make it worse. What is withheld for that is told ({@link #withheld}). No
 * group moves to a disk that is full; what such a disk has already is brought up to date all the
 * same. What an administrator holds back ({@link Held}) counts from the next tick on.
 *
 * <p>A group that is to be merged soon goes to the disks of the one that it goes back into, which
 * stays ({@link PgMerges}).
 *
 * <p>A group that is being split or merged, or is the other one of both, stays; and the groups of a
 * pool that is to have more stay while splits go first ({@link PgSplits}), but those with a replica
 * on a disk that is drained or absent, or with more or fewer replicas than the pool wants.
 *
 * <p>Nothing moves while a server does not recover learners: as primary it could never end a move.
 *
 * <p>One thread; without clock or I/O. Since when disks are away is the leader's own knowledge: a
 * new leader counts anew.
 */
public final class Placement {
    /** Disks of several servers that may be absent, as a part of those that are not drained. */
    private static final double MOST_ABSENT = 0.25;

    private final InSyncSets sets;
    private final Times times;
    private final Supplier<Held> held;

    /** Of disks that do not serve: since when this leader knows. */
    private final Map<Integer, Long> awaySince = new HashMap<>();

    private @Nullable Plan plan;

    /** The plan is right for the map of this epoch. */
    private long plannedEpoch = -1;

    /** What was looked at when no group could move; null: nothing yet. */
    private @Nullable Settled settled;

    /**
     * @param down how long the server of a disk is down before the disk is absent
     * @param failed how long a disk of a server that is up is out of service before
     */
    public record Times(Duration down, Duration failed) {}

    private volatile Set<Integer> withheld = Set.of();

    private @Nullable SplitFirst splitFirst;

    private record SplitFirst(long mapEpoch, Set<Integer> pools) {}

    private record Settled(long mapEpoch, Held held) {}

    /**
     * @param table the replicas of each group
     */
    private record Plan(List<Object> inputs, Map<Integer, List<Integer>> table) {}

    /**
     * @param held as it is whenever it is asked
     */
    public Placement(InSyncSets sets, Times times, Supplier<Held> held) {
        this.sets = sets;
        this.times = times;
        this.held = held;
    }

    /** On becoming leader. */
    public void begin() {
        awaySince.clear();
        withheld = Set.of();
        plan = null;
        plannedEpoch = -1;
        settled = null;
        splitFirst = null;
    }

    // ---- absent disks -------------------------------------------------------------------------

    /** Whether a disk is to be absent, or to be so no more. */
    public boolean isAnyToChange(ClusterMap map, long nowNanos) {
        for (Disk disk : map.disks()) {
            if (!isAway(sets, map, disk)) {
                awaySince.remove(disk.getId());
            } else {
                awaySince.putIfAbsent(disk.getId(), nowNanos);
            }
        }
        return absent(map, nowNanos) != null;
    }

    /**
     * Disks that are away for long and not absent: too much would be, or too little left. Any
     * thread.
     */
    Set<Integer> withheld() {
        return withheld;
    }

    /** Says which disks are absent; null if the map says that. */
    public InSyncSets.@Nullable Change absent(ClusterMap base, long nowNanos) {
        Set<Integer> kept = new TreeSet<>();
        MapUpdate.Builder update = MapUpdate.newBuilder();
        List<String> said = new ArrayList<>();
        Set<Integer> absent = new HashSet<>();
        base.disks().stream().filter(Disk::getAbsent).forEach(d -> absent.add(d.getId()));
        for (Disk disk : base.disks()) {
            boolean away = isAway(sets, base, disk);
            if (disk.getAbsent() && !away) {
                absent.remove(disk.getId());
                update.addDisks(disk.toBuilder().setAbsent(false));
                said.add("disk " + disk.getId() + " is back, and is given placement groups again");
            } else if (!disk.getAbsent()
                    && away
                    && !held.get().noOut()
                    && isLate(base, disk, nowNanos)) {
                absent.add(disk.getId());
                if (mayBe(base, absent)) {
                    update.addDisks(disk.toBuilder().setAbsent(true));
                    said.add(
                            "disk %d is away for long: its placement groups are placed elsewhere"
                                    .formatted(disk.getId()));
                } else {
                    absent.remove(disk.getId());
                    kept.add(disk.getId());
                }
            }
        }
        withheld = Collections.unmodifiableSet(kept);
        return said.isEmpty() ? null : new InSyncSets.Change(update, String.join("; ", said));
    }

    /** Whether nothing on the disk is served or acknowledged. */
    static boolean isAway(InSyncSets sets, ClusterMap map, Disk disk) {
        @Nullable Server server = map.server(disk.getServer());
        return server == null || !server.getUp() || sets.isReleased(map, disk.getId());
    }

    private boolean isLate(ClusterMap map, Disk disk, long nowNanos) {
        @Nullable Long since = awaySince.get(disk.getId());
        @Nullable Server server = map.server(disk.getServer());
        Duration patience = server == null || !server.getUp() ? times.down : times.failed;
        return since != null && nowNanos - since >= patience.toNanos();
    }

    private static boolean mayBe(ClusterMap base, Set<Integer> absent) {
        MapUpdate.Builder disks = MapUpdate.newBuilder();
        int placed = 0;
        int away = 0;
        Set<Integer> servers = new HashSet<>();
        for (Disk disk : base.disks()) {
            placed += disk.getOut() ? 0 : 1;
            if (!disk.getOut() && absent.contains(disk.getId())) {
                away++;
                servers.add(disk.getServer());
            }
            disks.addDisks(disk.toBuilder().setAbsent(absent.contains(disk.getId())));
        }
        ClusterMap then = base.with(disks.build());
        return (servers.size() <= 1 || away <= placed * MOST_ABSENT)
                && base.pools().stream()
                        .allMatch(p -> PgPlanner.domainCount(then, p) >= p.getSize());
    }

    // ---- moving -------------------------------------------------------------------------------

    /** Whether some group can move now. */
    public boolean isMoving(ClusterMap map, long nowNanos) {
        Settled now = new Settled(map.epoch(), held.get());
        if (now.equals(settled)) {
            return false;
        }
        if (!isAnyAbleToMove(map) || map.pgs().stream().allMatch(g -> isPlaced(map, g))) {
            settled = now;
            return false;
        }
        return moving(map, nowNanos) != null;
    }

    /** False beside a server that could not bring learners up to date. */
    static boolean isAnyAbleToMove(ClusterMap map) {
        return map.servers().stream().allMatch(Server::getRecovers);
    }

    /** The replicas that a group has once it has moved; those it has where it stays. */
    List<Integer> target(ClusterMap map, PlacementGroup group) {
        if (!mayMove(map, group)) {
            return group.getReplicasList();
        }
        @Nullable List<Integer> soon = PgMerges.wanted(map, group);
        if (soon != null) {
            return soon;
        }
        @Nullable List<Integer> wanted = table(map).get(group.getPg());
        return wanted == null ? group.getReplicasList() : wanted;
    }

    /**
     * Replicas on disks that serve which are not in sync, once all groups have moved: of each its
     * group, as often as that has such replicas.
     */
    List<PlacementGroup> toCopy(ClusterMap map, boolean isPlacing, long nowNanos) {
        boolean moves = isPlacing && isAnyAbleToMove(map);
        List<PlacementGroup> left = new ArrayList<>();
        for (PlacementGroup group : map.pgs()) {
            for (int disk : moves ? target(map, group) : group.getReplicasList()) {
                if (!group.getInSyncList().contains(disk) && sets.serves(map, disk, nowNanos)) {
                    left.add(group);
                }
            }
        }
        return left;
    }

    /** Of two groups that are to be merged the map names the replicas in one order. */
    boolean isPlaced(ClusterMap map, PlacementGroup group) {
        List<Integer> target = target(map, group);
        return target.equals(group.getReplicasList())
                || (PgMerges.wanted(map, group) == null
                        && target.getFirst() == group.getReplicas(0)
                        && target.size() == group.getReplicasCount()
                        && group.getReplicasList().containsAll(target));
    }

    private boolean mayMove(ClusterMap map, PlacementGroup group) {
        if (map.isTied(group)) {
            return false;
        }
        if (group.getReplicasList().stream().anyMatch(d -> !isPlaceable(map, d))) {
            return true;
        }
        return !held.get().noRebalance()
                && (!isSplitFirst(map, group) || isOfOtherSize(map, group));
    }

    /** Whether the pool wants more or fewer replicas: it is not split as it is. */
    private static boolean isOfOtherSize(ClusterMap map, PlacementGroup group) {
        @Nullable Pool pool = map.pool(PgHash.poolOf(group.getPg()));
        return pool != null && pool.getSize() != group.getReplicasCount();
    }

    private boolean isSplitFirst(ClusterMap map, PlacementGroup group) {
        @Nullable SplitFirst known = splitFirst;
        if (known == null || known.mapEpoch != map.epoch()) {
            known = new SplitFirst(map.epoch(), PgSplits.goFirst(map));
            splitFirst = known;
        }
        return known.pools.contains(PgHash.poolOf(group.getPg()));
    }

    /** Gives some groups their new replicas; null if none can move now. */
    public InSyncSets.@Nullable Change moving(ClusterMap base, long nowNanos) {
        Map<Integer, Integer> busy = busy(base, nowNanos);
        int most = held.get().movesPerDisk();
        MapUpdate.Builder update = MapUpdate.newBuilder();
        List<PlacementGroup> byNeed =
                base.pgs().stream()
                        .filter(g -> !isPlaced(base, g))
                        .sorted(Comparator.comparingInt(PlacementGroup::getInSyncCount))
                        .toList();
        for (PlacementGroup group : byNeed) {
            List<Integer> wanted = target(base, group);
            List<Integer> learners = new ArrayList<>(wanted);
            learners.removeAll(group.getInSyncList());
            boolean free =
                    learners.stream().allMatch(d -> busy.getOrDefault(d, 0) < most)
                            && (learners.isEmpty()
                                    || busy.getOrDefault(ClusterMap.primaryOf(group), 0) < most);
            if (free
                    && learners.stream().noneMatch(d -> isFull(base, group, d))
                    && !isLearning(base, group, nowNanos)) {
                count(busy, group, learners);
                update.addPgs(
                        group.toBuilder()
                                .clearReplicas()
                                .addAllReplicas(wanted)
                                .setEpoch(base.epoch() + 1));
            }
        }
        return update.getPgsCount() == 0
                ? null
                : new InSyncSets.Change(
                        update, update.getPgsCount() + " placement groups get other replicas");
    }

    /** How many groups learn, by the disks that take part. */
    private Map<Integer, Integer> busy(ClusterMap map, long nowNanos) {
        Map<Integer, Integer> busy = new HashMap<>();
        for (PlacementGroup group : map.pgs()) {
            List<Integer> learners = ClusterMap.learnersOf(group);
            learners.removeIf(d -> !sets.serves(map, d, nowNanos));
            count(busy, group, learners);
        }
        return busy;
    }

    private static void count(
            Map<Integer, Integer> busy, PlacementGroup group, List<Integer> learners) {
        if (!learners.isEmpty()) {
            busy.merge(ClusterMap.primaryOf(group), 1, Integer::sum);
            learners.forEach(d -> busy.merge(d, 1, Integer::sum));
        }
    }

    /** Whether a replica learns that can: it is let finish. */
    private boolean isLearning(ClusterMap map, PlacementGroup group, long nowNanos) {
        return group.getReplicasList().stream()
                .anyMatch(d ->
                        !group.getInSyncList().contains(d)
                                && sets.serves(map, d, nowNanos)
                                && isPlaceable(map, d));
    }

    /** Whether a disk gets no replica that it does not have already. */
    private static boolean isFull(ClusterMap map, PlacementGroup group, int id) {
        @Nullable Disk disk = map.disk(id);
        return disk != null
                && disk.getFill() == Fill.FILL_FULL
                && !group.getReplicasList().contains(id);
    }

    private static boolean isPlaceable(ClusterMap map, int id) {
        @Nullable Disk disk = map.disk(id);
        return disk != null && PgPlanner.isPlaceable(disk);
    }

    /** The replicas that every group is to have; computed when disks, servers or pools change. */
    private Map<Integer, List<Integer>> table(ClusterMap map) {
        @Nullable Plan known = plan;
        if (known != null && map.epoch() == plannedEpoch) {
            return known.table;
        }
        List<Object> inputs = new ArrayList<>(map.disks());
        inputs.addAll(map.pools());
        map.servers().forEach(s -> inputs.add(List.of(s.getId(), s.getHost(), s.getRack())));
        if (known == null || !known.inputs.equals(inputs)) {
            known = new Plan(inputs, tableOf(map));
            plan = known;
        }
        plannedEpoch = map.epoch();
        return known.table;
    }

    private static Map<Integer, List<Integer>> tableOf(ClusterMap map) {
        Map<Integer, List<Integer>> table = new TreeMap<>();
        for (Pool pool : map.pools()) {
            if (map.pg(PgHash.pg(pool.getId(), 0)) == null) {
                continue; // has none yet
            }
            List<List<Integer>> wanted;
            try {
                wanted = PgPlanner.plan(map, pool);
            } catch (FsException e) {
                continue; // too few failure domains: everything stays
            }
            for (int i = 0; i < wanted.size(); i++) {
                table.put(PgHash.pg(pool.getId(), i), wanted.get(i));
            }
        }
        return table;
    }
}
