package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.store.StateListener;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map as of the last applied entry, and its way to clients and data servers: the leader
 * pushes each change as an increment to all that are connected; who turns out to have missed some
 * (renewals and heartbeats say what they have) gets those ({@link MapHistory}). Any thread; pushes
 * go out on the control thread, in order.
 *
 * <p>A session that was refused by map E is never sent a newer one: the session floor rests on that
 * (docs/architecture/sessions.md). Hence whoever sends a client a map takes the map first, and then
 * looks whether the session is open: if it is, no map up to that one refuses it.
 */
public final class CurrentMap implements StateListener {
    private final ControlReader state;
    private final Leadership leadership;
    private final Control control;
    private final MapHistory history = new MapHistory(MapHistory.MAX_MESSAGE_BYTES);
    private final LongAdder pushedBytes = new LongAdder();
    private final LongAdder wholeMaps = new LongAdder();
    private volatile ClusterMap map = ClusterMap.EMPTY;

    /** The control thread's. */
    private long pushedEpoch;

    private volatile @Nullable Supplier<? extends Collection<RpcPeer>> connected;
    private volatile @Nullable Supplier<List<RpcPeer>> clients;

    public CurrentMap(ControlReader state, Leadership leadership, Control control) {
        this.state = state;
        this.leadership = leadership;
        this.control = control;
        this.map = state.map();
    }

    /**
     * To whom the map is pushed.
     *
     * @param connected everybody who is connected: the data servers among them get it
     * @param clients the connections of the sessions that are open when it is called
     */
    public void attach(
            Supplier<? extends Collection<RpcPeer>> connected, Supplier<List<RpcPeer>> clients) {
        this.clients = clients;
        this.connected = connected;
    }

    public ClusterMap get() {
        return map;
    }

    @Override
    public void mapChanged(MapUpdate increment) {
        List<Broadcast> pushes =
                history.add(increment); // first: who sees the map finds what led to it
        map = state.map();
        if (leadership.term() != null) {
            control.execute(() -> push(pushes, increment.getEpoch()));
        }
    }

    @Override
    public void restored() {
        history.clear();
        map = state.map();
    }

    private void push(List<Broadcast> increment, long epoch) {
        @Nullable Supplier<? extends Collection<RpcPeer>> to = connected;
        @Nullable Supplier<List<RpcPeer>> open = clients;
        if (to == null || open == null) {
            return;
        }
        for (RpcPeer peer : to.get()) {
            if (peer.hello().getRole() == Role.ROLE_DATA_SERVER) {
                send(peer, increment);
            }
        }
        for (RpcPeer peer : open.get()) {
            send(peer, increment);
        }
        pushedEpoch = epoch;
    }

    /** Of the last increment that was pushed; a map may be newer. The control thread only. */
    long pushedEpoch() {
        return pushedEpoch;
    }

    /**
     * The peer has only this epoch: sends it what is missing up to the present map, no further. The
     * whole map is made and sent on the control thread, not on that of the leases or a loop.
     */
    public void bringUpToDate(RpcPeer peer, long epoch, ClusterMap present) {
        if (present.epoch() <= epoch) {
            return;
        }
        @Nullable List<Broadcast> missed = missed(epoch, present);
        if (missed == null) {
            wholeMaps.increment();
            control.execute(() -> send(peer, history.whole(present)));
        } else {
            send(peer, missed);
        }
    }

    /**
     * What a holder of the map of that epoch lacks of the present one. Null if it needs the whole:
     * it has none, or one that is newer, or has missed more than is known any more.
     */
    public @Nullable List<Broadcast> missed(long epoch, ClusterMap present) {
        if (epoch > 0 && epoch == present.epoch()) {
            return List.of();
        }
        List<Broadcast> missed = history.between(epoch, present.epoch());
        return missed.isEmpty() ? null : missed;
    }

    /** What it has {@link #missed}, or is told of as all others. */
    public void send(RpcPeer peer, List<Broadcast> pushes) {
        for (Broadcast push : pushes) {
            pushedBytes.add(push.lengthBytes());
            peer.push(push);
        }
    }

    /** What was sent to peers so far. */
    public long pushedBytes() {
        return pushedBytes.sum();
    }

    /** How many times a peer had to be sent the whole map so far, in an answer or without one. */
    public long wholeMaps() {
        return wholeMaps.sum();
    }

    /**
     * The whole map for an answer. Of one that is too large for it all but the placement groups, at
     * epoch 0, which nobody takes for a map: {@link #sendRest} comes after the answer.
     */
    public MapUpdate inAnswer(ClusterMap present) {
        wholeMaps.increment();
        MapUpdate all = history.update(present);
        return history.isCut(present) ? all.toBuilder().clearPgs().setEpoch(0).build() : all;
    }

    /** What {@link #inAnswer} has left out. */
    public void sendRest(RpcPeer peer, ClusterMap present) {
        if (history.isCut(present)) {
            control.execute(() -> send(peer, history.whole(present)));
        }
    }
}
