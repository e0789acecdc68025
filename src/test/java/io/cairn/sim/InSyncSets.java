package io.cairn.sim;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
import io.cairn.mds.cluster.ServerLeases;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Who leaves and who joins the in-sync sets of placement groups. A set is never left empty, and
 * each change of one begins a new epoch of its group.
 *
 * <ul>
 *   <li>A backup leaves when its server has been silent for {@link #SILENCE_NANOS}, if the server
 *       has confirmed the epoch in which it is a backup: before, it may hold itself for the primary
 *       and serve reads by its lease.
 *   <li>A primary, and whoever may hold itself for one, leaves once its server is marked down: then
 *       its lease is over.
 *   <li>A server that was started anew leaves the sets in which another member's process went on,
 *       as soon as that was heard of since. Where all were started anew, all stay, and for {@link
 *       #RESTART_WAIT_NANOS} nobody is taken out who is still missing: the longest history counts,
 *       and disks have been known to forget what they had called durable.
 *   <li>A learner joins when the primary asks for it. A request that is refused begins a new epoch
 *       too: so the primary knows that it will not be granted later.
 * </ul>
 *
 * <p>One thread; without clock or I/O. What it remembers is the leader's own: a new leader that has
 * not heard of a restart leaves the server where it is, which is safe.
 */
final class InSyncSets {
    static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);
    static final long RESTART_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** Groups whose primary moves back at once: each of them pauses for some round trips. */
    private static final int MOVES = 16;

    private final ServerLeases servers;
    private final Map<Integer, Restart> restarts = new HashMap<>();

    /**
     * @param groups that it was in sync with when it was started anew, and for which nothing was
     *     decided yet
     */
    private record Restart(long nanos, Set<Integer> groups) {}

    InSyncSets(ServerLeases servers) {
        this.servers = servers;
    }

    /** On becoming leader. */
    void begin() {
        restarts.clear();
    }

    /** The map has changed: what was decided about a restart is no longer open. */
    void applied(ClusterMap map) {
        restarts.forEach((server, restart) ->
                restart.groups.removeIf(pg -> {
                    @Nullable PlacementGroup group = map.pg(pg);
                    return group == null
                            || group.getInSyncList().stream().noneMatch(d -> isOf(map, d, server));
                }));
    }

    /** A server has registered with a new process, and the map has it. */
    void restarted(ClusterMap map, int server, long nowNanos) {
        Set<Integer> groups = new HashSet<>();
        for (PlacementGroup group : map.pgs()) {
            if (group.getInSyncList().stream().anyMatch(d -> isOf(map, d, server))) {
                groups.add(group.getPg());
            }
        }
        restarts.put(server, new Restart(nowNanos, groups));
    }

    private static boolean isOf(ClusterMap map, int disk, int server) {
        @Nullable Server owner = map.serverOfDisk(disk);
        return owner != null && owner.getId() == server;
    }

    // ---- leaving ------------------------------------------------------------------------------

    /** Takes out who is to leave; null if nobody is. */
    MapUpdate.@Nullable Builder leaving(ClusterMap base, long nowNanos) {
        restarts.values().removeIf(r -> nowNanos - r.nanos > RESTART_WAIT_NANOS);
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (PlacementGroup group : base.pgs()) {
            List<Integer> stay = staying(base, group, nowNanos);
            if (stay.size() < group.getInSyncCount()) {
                update.addPgs(inSync(group, stay, base));
            }
        }
        return update.getPgsCount() == 0 ? null : update;
    }

    private List<Integer> staying(ClusterMap base, PlacementGroup group, long nowNanos) {
        List<Integer> before = group.getInSyncList();
        IntPredicate serves = disk -> serves(base, disk, nowNanos);
        List<Integer> sure =
                before.stream()
                        .filter(d -> serves.test(d) && restart(base, group, d) == null)
                        .toList();
        if (sure.isEmpty()) {
            return before;
        }
        List<Integer> stay = new ArrayList<>();
        for (int disk : before) {
            @Nullable Server server = base.serverOfDisk(disk);
            @Nullable Restart restart = restart(base, group, disk);
            boolean leaves =
                    server == null
                            || !server.getUp()
                            || (restart != null && isHeardSince(base, sure, restart.nanos))
                            || (disk != before.getFirst()
                                    && isSilent(server, nowNanos)
                                    && isConfirmed(server, group));
            if (!leaves) {
                stay.add(disk);
            }
        }
        return stay;
    }

    /** Null if its process has gone on. */
    private @Nullable Restart restart(ClusterMap base, PlacementGroup group, int disk) {
        @Nullable Server server = base.serverOfDisk(disk);
        @Nullable Restart restart = server == null ? null : restarts.get(server.getId());
        return restart != null && restart.groups.contains(group.getPg()) ? restart : null;
    }

    private boolean isHeardSince(ClusterMap base, List<Integer> disks, long nanos) {
        for (int disk : disks) {
            @Nullable Server server = base.serverOfDisk(disk);
            if (server != null && servers.heardSince(server.getId(), nanos)) {
                return true;
            }
        }
        return false;
    }

    private boolean serves(ClusterMap base, int disk, long nowNanos) {
        @Nullable Server server = base.serverOfDisk(disk);
        return server != null && server.getUp() && !isSilent(server, nowNanos);
    }

    private boolean isSilent(Server server, long nowNanos) {
        ServerLeases.@Nullable Known known = servers.all().get(server.getId());
        return known == null || nowNanos - known.answeredNanos() > SILENCE_NANOS;
    }

    private boolean isConfirmed(Server server, PlacementGroup group) {
        ServerLeases.@Nullable Known known = servers.all().get(server.getId());
        return known != null && known.confirmedEpoch() >= group.getEpoch();
    }

    // ---- joining ------------------------------------------------------------------------------

    /**
     * Lets a learner join that has everything acknowledged in this epoch of the group; null if
     * another epoch has begun.
     */
    MapUpdate.@Nullable Builder joining(
            ClusterMap base, int pg, long pgEpoch, int disk, long nowNanos) {
        @Nullable PlacementGroup group = base.pg(pg);
        if (group == null
                || group.getEpoch() != pgEpoch
                || group.getInSyncList().contains(disk)
                || !group.getReplicasList().contains(disk)) {
            return null;
        }
        List<Integer> members = new ArrayList<>(group.getInSyncList());
        if (serves(base, disk, nowNanos)) {
            members.add(disk);
        }
        return MapUpdate.newBuilder().addPgs(inSync(group, members, base));
    }

    /** Gives groups their first replica as the primary again, a few at a time; null if all have. */
    MapUpdate.@Nullable Builder movingBack(ClusterMap base, long nowNanos) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (PlacementGroup group : base.pgs()) {
            boolean astray =
                    group.getInSyncCount() == group.getReplicasCount()
                            && ClusterMap.primaryOf(group) != group.getReplicas(0);
            if (astray
                    && update.getPgsCount() < MOVES
                    && group.getInSyncList().stream().allMatch(d -> serves(base, d, nowNanos))) {
                update.addPgs(inSync(group, group.getReplicasList(), base));
            }
        }
        return update.getPgsCount() == 0 ? null : update;
    }

    private static PlacementGroup.Builder inSync(
            PlacementGroup group, List<Integer> disks, ClusterMap base) {
        return group.toBuilder()
                .clearInSync()
                .addAllInSync(List.copyOf(disks))
                .setEpoch(base.epoch() + 1);
    }
}
