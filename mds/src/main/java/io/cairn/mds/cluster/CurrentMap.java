package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcServer;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.store.StateListener;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map as of the last applied entry, and its way to clients and data servers: the leader
 * pushes each change as an increment to all that are connected; who turns out to have missed one
 * (renewals and heartbeats say what they have) gets what is missing. Any thread; pushes go out on
 * the control thread, in order.
 *
 * <p>A session that was refused by map E is never sent a newer one: the session floor rests on that
 * (docs/architecture/sessions.md). Hence whoever sends a client a map takes the map first, and then
 * looks whether the session is open: if it is, no map up to that one refuses it.
 */
public final class CurrentMap implements StateListener {
    private final ControlReader state;
    private final Leadership leadership;
    private final Control control;
    private volatile ClusterMap map = ClusterMap.EMPTY;
    private volatile @Nullable RpcServer server;
    private volatile @Nullable Supplier<List<RpcPeer>> clients;

    public CurrentMap(ControlReader state, Leadership leadership, Control control) {
        this.state = state;
        this.leadership = leadership;
        this.control = control;
        reload();
    }

    /**
     * To whom the map is pushed.
     *
     * @param clients the connections of the sessions that are open when it is called
     */
    public void attach(RpcServer server, Supplier<List<RpcPeer>> clients) {
        this.clients = clients;
        this.server = server;
    }

    public ClusterMap get() {
        return map;
    }

    @Override
    public synchronized void mapChanged(MapUpdate increment) {
        @Nullable ClusterMap next = map.apply(increment);
        if (next == null) {
            reload();
        } else {
            map = next;
        }
        if (leadership.term() != null) {
            control.execute(() -> push(increment));
        }
    }

    @Override
    public synchronized void restored() {
        reload();
    }

    private void reload() {
        if (state.isFormatted()) {
            map = ClusterMap.of(state.map());
        }
    }

    private void push(MapUpdate increment) {
        @Nullable RpcServer to = server;
        @Nullable Supplier<List<RpcPeer>> open = clients;
        if (to == null || open == null) {
            return;
        }
        for (RpcPeer peer : to.peers()) {
            if (peer.hello().getRole() == Role.ROLE_DATA_SERVER) {
                peer.push(Method.MAP_PUSH_VALUE, increment);
            }
        }
        for (RpcPeer peer : open.get()) {
            peer.push(Method.MAP_PUSH_VALUE, increment);
        }
    }

    /** The peer has only this epoch: sends it the map if that is newer. */
    public static void bringUpToDate(RpcPeer peer, long epoch, ClusterMap present) {
        if (present.epoch() > epoch) {
            peer.push(Method.MAP_PUSH_VALUE, present.toUpdate());
        }
    }
}
