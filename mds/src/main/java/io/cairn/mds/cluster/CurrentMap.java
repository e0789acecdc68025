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
    private final MapHistory history = new MapHistory();
    private volatile ClusterMap map = ClusterMap.EMPTY;
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
        Broadcast push = history.add(increment); // first: who sees the map finds what led to it
        map = state.map();
        if (leadership.term() != null) {
            control.execute(() -> push(push));
        }
    }

    @Override
    public void restored() {
        history.clear();
        map = state.map();
    }

    private void push(Broadcast increment) {
        @Nullable Supplier<? extends Collection<RpcPeer>> to = connected;
        @Nullable Supplier<List<RpcPeer>> open = clients;
        if (to == null || open == null) {
            return;
        }
        for (RpcPeer peer : to.get()) {
            if (peer.hello().getRole() == Role.ROLE_DATA_SERVER) {
                peer.push(increment);
            }
        }
        for (RpcPeer peer : open.get()) {
            peer.push(increment);
        }
    }

    /** The peer has only this epoch: sends it what is missing up to the present map, no further. */
    public void bringUpToDate(RpcPeer peer, long epoch, ClusterMap present) {
        if (present.epoch() > epoch) {
            history.since(epoch, present).forEach(peer::push);
        }
    }

    /** The whole of a map that was the present one, as a message. */
    public MapUpdate update(ClusterMap present) {
        return history.update(present);
    }
}
