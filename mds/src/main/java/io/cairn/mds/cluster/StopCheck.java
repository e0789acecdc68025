package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CanStopReply;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Whether every placement group has {@code min_size} members in sync without some disks, and what
 * to wait for where one has not. A member counts only if it surely serves: in the seconds before a
 * server that died or was started anew leaves the in-sync sets it must not be counted on. One use
 * by one thread.
 */
final class StopCheck {
    private final ClusterMap map;
    private final Set<Integer> disks;
    private final IntPredicate serves;
    private final BiPredicate<PlacementGroup, Integer> isSure;
    private final Set<String> steps = new TreeSet<>();

    /** Replicas that serve and are not in sync yet, by pool. */
    private final TreeMap<String, Integer> learning = new TreeMap<>();

    /**
     * @param disks that are to be stopped
     * @param serves whether a disk does now
     * @param isSure whether it does, and stays a member of a group that it is one of
     */
    StopCheck(
            ClusterMap map,
            Set<Integer> disks,
            IntPredicate serves,
            BiPredicate<PlacementGroup, Integer> isSure) {
        this.map = map;
        this.disks = disks;
        this.serves = serves;
        this.isSure = isSure;
    }

    CanStopReply reply() {
        int stopping = 0;
        int stopped = 0;
        for (PlacementGroup group : map.pgs()) {
            @Nullable Pool pool = map.pool(PgHash.poolOf(group.getPg()));
            int least = pool == null ? 1 : pool.getMinSize();
            List<Integer> sure =
                    group.getInSyncList().stream().filter(d -> isSure.test(group, d)).toList();
            int now = sure.size();
            long then = sure.stream().filter(d -> !disks.contains(d)).count();
            if (then < least) {
                stopping++;
                stopped += now < least ? 1 : 0;
                addSteps(group, pool);
            }
        }
        learning.forEach((pool, replicas) ->
                steps.add(
                        "replicas of pool %s that are brought up to date: %d; wait for them"
                                .formatted(pool, replicas)));
        return CanStopReply.newBuilder()
                .setAllGroups(map.pgs().size())
                .setStopping(stopping)
                .setStopped(stopped)
                .addAllSteps(steps)
                .build();
    }

    private void addSteps(PlacementGroup group, @Nullable Pool pool) {
        boolean isWhole = true;
        Set<Integer> all = new TreeSet<>(group.getReplicasList());
        all.addAll(group.getInSyncList());
        for (int disk : all) {
            if (disks.contains(disk)) {
                continue;
            }
            if (!serves.test(disk)) {
                isWhole = false;
                steps.add(notServing(disk));
            } else if (!group.getInSyncList().contains(disk) || !isSure.test(group, disk)) {
                isWhole = false;
                learning.merge(pool == null ? "?" : pool.getName(), 1, Integer::sum);
            }
        }
        if (isWhole && pool != null) {
            boolean isOne = group.getInSyncList().stream().filter(disks::contains).count() == 1;
            steps.add(
                    isOne
                            ? "pool %s has %d replicas and needs %d in sync: drain what is to be stopped first"
                                    .formatted(pool.getName(), pool.getSize(), pool.getMinSize())
                            : "pool %s has %d replicas and needs %d in sync: stop fewer at once"
                                    .formatted(pool.getName(), pool.getSize(), pool.getMinSize()));
        }
    }

    private String notServing(int disk) {
        @Nullable Server server = map.serverOfDisk(disk);
        if (server == null || !server.getUp()) {
            return server == null
                    ? "the server of disk %d is not known".formatted(disk)
                    : "data server %d (%s) is down: start it"
                            .formatted(server.getId(), server.getAddress());
        }
        return "disk %d of data server %d (%s) does not serve: see 'cairn disk ls'"
                .formatted(disk, server.getId(), server.getAddress());
    }
}
