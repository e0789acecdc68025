package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.CanStopRequest;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DrainReply;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Leadership;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
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

    private final Leadership leadership;
    private final CurrentMap map;
    private final MapChanges changes;
    private final ServerLeases servers;
    private final InSyncSets sets;
    private final Placement placement;
    private final Supplier<Placement.Flags> flags;
    private final BooleanSupplier isPlacing;
    private final NanoClock clock;

    /**
     * @param isPlacing whether all members know maps in which groups move
     */
    PlacementRequests(
            Leadership leadership,
            CurrentMap map,
            MapChanges changes,
            ServerLeases servers,
            InSyncSets sets,
            Placement placement,
            Supplier<Placement.Flags> flags,
            BooleanSupplier isPlacing,
            NanoClock clock) {
        this.leadership = leadership;
        this.map = map;
        this.changes = changes;
        this.servers = servers;
        this.sets = sets;
        this.placement = placement;
        this.flags = flags;
        this.isPlacing = isPlacing;
        this.clock = clock;
    }

    /** Takes disks out of placement, or back into it. */
    public void drain(RpcRequest request) {
        answered(
                request,
                () -> {
                    DrainRequest wanted = Heads.parse(DrainRequest.parser(), request.head());
                    if (!isPlacing.getAsBoolean()) {
                        throw new FsException(Errno.EAGAIN, levelTooLow());
                    }
                    LOG.info(
                            "an administrator at {} {} disks {} and data servers {}",
                            RpcAddress.format(request.peer().address()),
                            wanted.getRestore() ? "restores" : "drains",
                            wanted.getDisksList(),
                            wanted.getServersList());
                    drain(request, wanted);
                });
    }

    private static String levelTooLow() {
        return "placement groups move once every metadata server has said that it knows that: start"
                + " those that are down, and upgrade those of an older release ('cairn status' names"
                + " both)";
    }

    private void drain(RpcRequest request, DrainRequest wanted) {
        List<ClusterMap> before = new ArrayList<>();
        var _ =
                changes.change(
                                base -> {
                                    before.clear();
                                    before.add(base);
                                    return Drains.update(base, wanted);
                                })
                        .whenComplete((now, failure) -> {
                            if (failure instanceof FsException e && e.errno() != Errno.EAGAIN) {
                                request.fail(RpcStatus.fail(e.errno(), e.detail()));
                            } else if (failure != null) {
                                request.fail(leadership.unavailable(failure));
                            } else {
                                request.reply(drained(before.getLast(), now, wanted));
                            }
                        });
    }

    private static DrainReply drained(ClusterMap before, ClusterMap now, DrainRequest wanted) {
        DiskLoads loads = DiskLoads.of(now.pgs());
        DrainReply.Builder reply = DrainReply.newBuilder();
        for (int id : Drains.meant(before, wanted.getDisksList(), wanted.getServersList())) {
            @Nullable Disk was = before.disk(id);
            reply.addDisks(
                    DrainedDisk.newBuilder()
                            .setDisk(id)
                            .setChanged(was != null && was.getOut() == wanted.getRestore())
                            .setReplicas(loads.of(id).groups()));
        }
        return reply.build();
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
        boolean moves = isPlacing.getAsBoolean() && Placement.isAnyAbleToMove(present);
        Map<Integer, Long> used = new HashMap<>();
        servers.all()
                .values()
                .forEach(known ->
                        known.report()
                                .disks()
                                .forEach(d -> used.put(d.getDisk(), d.getUsedBytes())));
        return new BalancePlan(present, used)
                .reply(
                        group -> moves ? placement.target(present, group) : group.getReplicasList(),
                        holds(present));
    }

    private List<String> holds(ClusterMap present) {
        List<String> holds = new ArrayList<>();
        if (!isPlacing.getAsBoolean()) {
            holds.add(levelTooLow());
        }
        for (Server server : present.servers()) {
            if (!server.getRecovers()) {
                holds.add(
                        "data server %d (%s) is of a release that does not bring replicas up to date: upgrade it, nothing moves before"
                                .formatted(server.getId(), server.getAddress()));
            }
        }
        if (flags.get().noRebalance()) {
            holds.add("norebalance is on: groups move off drained and absent disks only");
        }
        if (flags.get().noOut()) {
            holds.add("noout is on: no disk becomes absent");
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
