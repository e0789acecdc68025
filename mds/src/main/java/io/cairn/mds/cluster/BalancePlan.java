package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskPlan;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.PlannedMove;
import io.cairn.common.proto.Pool;
import io.cairn.mds.map.PgPlanner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What moving all groups to where they are to be would copy, and how replicas are spread over disks
 * before and after. Pure; one use by one thread.
 */
final class BalancePlan {
    /** Moves that a reply names: some 200 KiB of it. */
    static final int MAX_MOVES = 10_000;

    private final ClusterMap map;
    private final DiskLoads loads;
    private final ReplicaBytes bytesOf;
    private final Map<Integer, Integer> then = new HashMap<>();
    private final BalancePlanReply.Builder reply = BalancePlanReply.newBuilder();
    private double bytes;
    private int moves;

    /**
     * @param reported what disks say of themselves, as far as it is known
     */
    BalancePlan(ClusterMap map, Map<Integer, DiskStatus> reported) {
        this.map = map;
        this.loads = DiskLoads.of(map.pgs());
        this.bytesOf = new ReplicaBytes(loads, reported);
    }

    /**
     * @param target the replicas that a group is to have
     * @param holds why not all that could move does
     */
    BalancePlanReply reply(Function<PlacementGroup, List<Integer>> target, List<String> holds) {
        for (PlacementGroup group : map.pgs()) {
            add(group, target.apply(group));
        }
        Map<Integer, Double> shares = shares();
        for (Disk disk : map.disks()) {
            reply.addDisks(
                    DiskPlan.newBuilder()
                            .setDisk(disk.getId())
                            .setPlaceable(PgPlanner.isPlaceable(disk))
                            .setReplicasNow(loads.of(disk.getId()).replicas())
                            .setReplicasThen(then.getOrDefault(disk.getId(), 0))
                            .setShare(shares.getOrDefault(disk.getId(), 0.0)));
        }
        return reply.setBytes((long) bytes).setAllMoves(moves).addAllHolds(holds).build();
    }

    private void add(PlacementGroup group, List<Integer> wanted) {
        wanted.forEach(d -> then.merge(d, 1, Integer::sum));
        List<Integer> come = new ArrayList<>(wanted);
        come.removeAll(group.getReplicasList());
        if (!come.isEmpty()) {
            reply.setGroups(reply.getGroups() + 1);
        } else if (!wanted.getFirst().equals(group.getReplicas(0))) {
            reply.setPrimaries(reply.getPrimaries() + 1);
        }
        addMoves(group, come, wanted);
        come.removeAll(group.getInSyncList());
        reply.setReplicas(reply.getReplicas() + come.size());
        bytes += come.size() * bytesOf.replicaOf(group);
    }

    /**
     * Pairs the disks that come with those that leave, both in the order of the group's replicas:
     * so one of a device class follows one of the same.
     */
    private void addMoves(PlacementGroup group, List<Integer> come, List<Integer> wanted) {
        List<Integer> leave = new ArrayList<>(group.getReplicasList());
        leave.removeAll(wanted);
        for (int i = 0; i < come.size() && reply.getMovesCount() < MAX_MOVES; i++) {
            int to = come.get(i);
            boolean isCopied = !group.getInSyncList().contains(to);
            reply.addMoves(
                    PlannedMove.newBuilder()
                            .setPg(group.getPg())
                            .setFrom(i < leave.size() ? leave.get(i) : 0)
                            .setTo(to)
                            .setBytes(isCopied ? (long) bytesOf.replicaOf(group) : 0));
        }
        moves += come.size();
    }

    private Map<Integer, Double> shares() {
        Map<Integer, Double> shares = new HashMap<>();
        for (Pool pool : map.pools()) {
            if (map.pg(PgHash.pg(pool.getId(), 0)) != null) {
                PgPlanner.shares(map.disks(), pool)
                        .forEach((disk, share) -> shares.merge(disk, share, Double::sum));
            }
        }
        return shares;
    }
}
