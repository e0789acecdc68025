package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.CanStopRequest;
import io.cairn.common.proto.DrainReply;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.RemoveReply;
import io.cairn.common.proto.RemoveRequest;
import io.cairn.common.proto.ReweightReply;
import io.cairn.common.proto.ReweightRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Held;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What administrators ask of placement: to drain disks, whether some can be stopped, what would
 * move. The control thread only.
 */
public final class PlacementRequests {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementRequests.class);

    private final AdminChanges administration;
    private final CurrentMap map;
    private final ServerLeases servers;
    private final InSyncSets sets;
    private final Placement placement;
    private final Supplier<Held> held;
    private final NanoClock clock;

    PlacementRequests(
            AdminChanges administration,
            CurrentMap map,
            ServerLeases servers,
            InSyncSets sets,
            Placement placement,
            Supplier<Held> held,
            NanoClock clock) {
        this.administration = administration;
        this.map = map;
        this.servers = servers;
        this.sets = sets;
        this.placement = placement;
        this.held = held;
        this.clock = clock;
    }

    /** Takes disks out of placement, or back into it. */
    public void drain(RpcRequest request) {
        administration.answered(
                request,
                () -> {
                    DrainRequest wanted = Heads.parse(DrainRequest.parser(), request.head());
                    administration.requireMoving();
                    said(
                            request,
                            wanted.getRestore() ? "restores" : "drains",
                            wanted.getDisksList(),
                            wanted.getServersList());
                    administration.change(
                            request,
                            base -> drained(base, wanted),
                            (before, now) ->
                                    DrainReply.newBuilder()
                                            .addAllDisks(
                                                    changed(
                                                            before,
                                                            now,
                                                            wanted.getDisksList(),
                                                            wanted.getServersList()))
                                            .build());
                });
    }

    private MapUpdate.@Nullable Builder drained(ClusterMap base, DrainRequest wanted) {
        MapUpdate.@Nullable Builder update = Drains.update(base, wanted);
        if (update != null && !wanted.getRestore() && !wanted.getForce()) {
            new DrainRoom(base, servers.disks()).check(update.build());
        }
        return update;
    }

    /** Sets the weight of disks. */
    public void reweight(RpcRequest request) {
        administration.answered(
                request,
                () -> {
                    ReweightRequest wanted = Heads.parse(ReweightRequest.parser(), request.head());
                    administration.requireElastic();
                    said(
                            request,
                            "gives a weight of %s thousandths to"
                                    .formatted(wanted.getWeightPermille()),
                            wanted.getDisksList(),
                            wanted.getServersList());
                    administration.change(
                            request,
                            base -> Drains.update(base, wanted),
                            (before, now) ->
                                    ReweightReply.newBuilder()
                                            .addAllDisks(
                                                    changed(
                                                            before,
                                                            now,
                                                            wanted.getDisksList(),
                                                            wanted.getServersList()))
                                            .build());
                });
    }

    /** Forgets disks and data servers. */
    public void remove(RpcRequest request) {
        administration.answered(
                request,
                () -> {
                    RemoveRequest wanted = Heads.parse(RemoveRequest.parser(), request.head());
                    administration.requireElastic();
                    said(request, "removes", wanted.getDisksList(), wanted.getServersList());
                    administration.change(
                            request,
                            base ->
                                    Removals.update(
                                            base, wanted, d -> Placement.isAway(sets, base, d)),
                            (before, _) ->
                                    RemoveReply.newBuilder()
                                            .addAllDisks(
                                                    Drains.meant(
                                                            before,
                                                            wanted.getDisksList(),
                                                            wanted.getServersList()))
                                            .addAllServers(new TreeSet<>(wanted.getServersList()))
                                            .build());
                });
    }

    private static void said(
            RpcRequest request, String what, List<Integer> disks, List<Integer> servers) {
        LOG.info(
                "an administrator at {} {} disks {} and data servers {}",
                RpcAddress.format(request.peer().address()),
                what,
                disks,
                servers);
    }

    private static List<DrainedDisk> changed(
            ClusterMap before, ClusterMap now, List<Integer> disks, List<Integer> servers) {
        DiskLoads loads = DiskLoads.of(now.pgs());
        List<DrainedDisk> all = new ArrayList<>();
        for (int id : Drains.meant(before, disks, servers)) {
            all.add(
                    DrainedDisk.newBuilder()
                            .setDisk(id)
                            .setChanged(!Objects.equals(before.disk(id), now.disk(id)))
                            .setReplicas(loads.of(id).groups())
                            .build());
        }
        return all;
    }

    /** Whether all placement groups would take writes without some disks. */
    public void canStop(RpcRequest request) {
        administration.answered(
                request,
                () -> {
                    CanStopRequest wanted = Heads.parse(CanStopRequest.parser(), request.head());
                    ClusterMap present = map.get();
                    long now = clock.nanos();
                    Set<Integer> disks =
                            Drains.meant(present, wanted.getDisksList(), wanted.getServersList());
                    request.reply(
                            new StopCheck(
                                            present,
                                            disks,
                                            d -> sets.serves(present, d, now),
                                            (group, d) -> sets.isSure(present, group, d, now))
                                    .reply());
                });
    }

    /** What placement would move now. */
    public void balancePlan(RpcRequest request) {
        administration.answered(request, () -> request.reply(balancePlan(map.get())));
    }

    private BalancePlanReply balancePlan(ClusterMap present) {
        boolean moves = administration.isPlacing() && Placement.isAnyAbleToMove(present);
        return new BalancePlan(present, servers.disks())
                .reply(
                        group -> moves ? placement.target(present, group) : group.getReplicasList(),
                        holds(present));
    }

    private List<String> holds(ClusterMap present) {
        List<String> holds = new ArrayList<>();
        if (!administration.isPlacing()) {
            holds.add(AdminChanges.MOVES_LATER);
        }
        for (Server server : present.servers()) {
            if (!server.getRecovers()) {
                holds.add(
                        "data server %d (%s) is of a release that does not bring replicas up to date: upgrade it, nothing moves before"
                                .formatted(server.getId(), server.getAddress()));
            }
        }
        if (held.get().noRebalance()) {
            holds.add("norebalance is on: groups move off drained and absent disks only");
        }
        if (held.get().noOut()) {
            holds.add("noout is on: no disk becomes absent");
        }
        if (held.get().noRecover()) {
            holds.add("norecover is on: replicas that groups get are not brought up to date");
        }
        return holds;
    }
}
