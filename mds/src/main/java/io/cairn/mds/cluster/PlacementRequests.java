package io.cairn.mds.cluster;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
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
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Held;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.Features;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntSupplier;
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

    private static final String LATER =
            " once every metadata server has said that it knows that: start those that are down, and"
                    + " upgrade those of an older release ('cairn status' names both)";
    private static final String MOVES_LATER = "placement groups move" + LATER;
    private static final String KNOWN_LATER = "this can be done" + LATER;

    private final Leadership leadership;
    private final CurrentMap map;
    private final MapChanges changes;
    private final ServerLeases servers;
    private final InSyncSets sets;
    private final Placement placement;
    private final Supplier<Held> held;
    private final IntSupplier featureLevel;
    private final NanoClock clock;

    /**
     * @param featureLevel of the group: what all members know
     */
    PlacementRequests(
            Leadership leadership,
            CurrentMap map,
            MapChanges changes,
            ServerLeases servers,
            InSyncSets sets,
            Placement placement,
            Supplier<Held> held,
            IntSupplier featureLevel,
            NanoClock clock) {
        this.leadership = leadership;
        this.map = map;
        this.changes = changes;
        this.servers = servers;
        this.sets = sets;
        this.placement = placement;
        this.held = held;
        this.featureLevel = featureLevel;
        this.clock = clock;
    }

    /** Takes disks out of placement, or back into it. */
    public void drain(RpcRequest request) {
        answered(
                request,
                () -> {
                    DrainRequest wanted = Heads.parse(DrainRequest.parser(), request.head());
                    require(Features.RECOVERY);
                    said(
                            request,
                            wanted.getRestore() ? "restores" : "drains",
                            wanted.getDisksList(),
                            wanted.getServersList());
                    change(
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
        answered(
                request,
                () -> {
                    ReweightRequest wanted = Heads.parse(ReweightRequest.parser(), request.head());
                    require(Features.ELASTIC);
                    said(
                            request,
                            "gives a weight of %s thousandths to"
                                    .formatted(wanted.getWeightPermille()),
                            wanted.getDisksList(),
                            wanted.getServersList());
                    change(
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
        answered(
                request,
                () -> {
                    RemoveRequest wanted = Heads.parse(RemoveRequest.parser(), request.head());
                    require(Features.ELASTIC);
                    said(request, "removes", wanted.getDisksList(), wanted.getServersList());
                    change(
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

    /** EAGAIN while some member of the group is of a release that does not know such maps. */
    private void require(int level) {
        if (featureLevel.getAsInt() < level) {
            throw new FsException(
                    Errno.EAGAIN, level == Features.RECOVERY ? MOVES_LATER : KNOWN_LATER);
        }
    }

    /**
     * Changes the map and answers.
     *
     * @param reply from the map before and after
     */
    private void change(
            RpcRequest request,
            Function<ClusterMap, MapUpdate.@Nullable Builder> edit,
            BiFunction<ClusterMap, ClusterMap, MessageLite> reply) {
        List<ClusterMap> before = new ArrayList<>();
        var _ =
                changes.change(
                                base -> {
                                    before.clear();
                                    before.add(base);
                                    return edit.apply(base);
                                })
                        .whenComplete((now, failure) -> {
                            if (failure instanceof FsException e && e.errno() != Errno.EAGAIN) {
                                request.fail(RpcStatus.fail(e.errno(), e.detail()));
                            } else if (failure != null) {
                                request.fail(leadership.unavailable(failure));
                            } else {
                                request.reply(reply.apply(before.getLast(), now));
                            }
                        });
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
        answered(
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
        answered(request, () -> request.reply(balancePlan(map.get())));
    }

    private BalancePlanReply balancePlan(ClusterMap present) {
        boolean moves = isPlacing() && Placement.isAnyAbleToMove(present);
        return new BalancePlan(present, servers.disks())
                .reply(
                        group -> moves ? placement.target(present, group) : group.getReplicasList(),
                        holds(present));
    }

    private boolean isPlacing() {
        return featureLevel.getAsInt() >= Features.RECOVERY;
    }

    private List<String> holds(ClusterMap present) {
        List<String> holds = new ArrayList<>();
        if (!isPlacing()) {
            holds.add(MOVES_LATER);
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

    private interface Step {
        void run();
    }

    /** A leader that may answer does the step, and says what it throws. */
    private void answered(RpcRequest request, Step step) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        try {
            step.run();
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), e.detail()));
        }
    }
}
