package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcServer;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.StateListener;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map as of the last applied entry, and its way to clients and data servers: the leader
 * pushes each change as an increment to all that are connected; who turns out to have missed one
 * (renewals and heartbeats say what they have) gets what is missing. Any thread; pushes go out on
 * the control thread, in order.
 */
final class CurrentMap implements StateListener {
    private final ControlReader state;
    private final Leadership leadership;
    private final Control control;
    private volatile ClusterMap map = ClusterMap.EMPTY;
    private volatile @Nullable RpcServer server;

    CurrentMap(ControlReader state, Leadership leadership, Control control) {
        this.state = state;
        this.leadership = leadership;
        this.control = control;
        reload();
    }

    /** Whose connections the map is pushed to. */
    void attach(RpcServer server) {
        this.server = server;
    }

    ClusterMap get() {
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
        if (to == null) {
            return;
        }
        for (RpcPeer peer : to.peers()) {
            Role role = peer.hello().getRole();
            if (role == Role.ROLE_CLIENT || role == Role.ROLE_DATA_SERVER) {
                peer.push(Method.MAP_PUSH_VALUE, increment);
            }
        }
    }

    /** The peer has only this epoch: sends it the present map if that is newer. */
    void bringUpToDate(RpcPeer peer, long epoch) {
        ClusterMap present = map;
        if (present.epoch() > epoch) {
            peer.push(Method.MAP_PUSH_VALUE, present.toUpdate());
        }
    }
}
