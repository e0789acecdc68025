package io.cairn.mds.server;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.RpcPeer;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * A client or data server of {@link MapAtScaleTest} without a network: it takes maps as a real one
 * does, and counts what it is sent.
 */
final class FakePeer implements RpcPeer {
    /** What all peers were sent. */
    static final class Traffic {
        final LongAdder pushes = new LongAdder();
        final LongAdder bytes = new LongAdder();
        final LongAdder wholeMaps = new LongAdder();

        /** Of increments that name data servers. */
        final Set<Long> serverEpochs = ConcurrentHashMap.newKeySet();

        /** Of increments that refuse sessions. */
        final Set<Long> evictionEpochs = ConcurrentHashMap.newKeySet();
    }

    private static final InetSocketAddress ADDRESS = new InetSocketAddress("127.0.0.1", 1);

    private final Hello hello;
    private final Traffic traffic;
    private volatile long epoch;

    /** An increment came that builds on a map it does not have. */
    private volatile boolean behind;

    FakePeer(Role role, Traffic traffic) {
        this.hello = Hello.newBuilder().setRole(role).build();
        this.traffic = traffic;
    }

    /** Of the map it has. */
    long epoch() {
        return epoch;
    }

    /** True once after an increment that it could not use. */
    boolean askAgain() {
        boolean was = behind;
        behind = false;
        return was;
    }

    @Override
    public void push(int method, MessageLite head) {
        throw new UnsupportedOperationException("what is pushed here is for many");
    }

    @Override
    public void push(Broadcast message) {
        traffic.pushes.increment();
        traffic.bytes.add(message.lengthBytes());
        if (message.head() instanceof MapUpdate map) {
            take(map);
        }
    }

    /** An answer had a map: the whole one. */
    void answered(MapUpdate map) {
        traffic.bytes.add(map.getSerializedSize());
        take(map);
    }

    private void take(MapUpdate map) {
        if (map.getBaseEpoch() == 0) {
            traffic.wholeMaps.increment();
        } else if (map.getRefusedSessionsCount() > 0) {
            traffic.evictionEpochs.add(map.getEpoch());
        }
        if (map.getBaseEpoch() > 0 && map.getServersCount() > 0) {
            traffic.serverEpochs.add(map.getEpoch());
        }
        synchronized (this) {
            if (map.getEpoch() <= epoch) {
                return;
            }
            if (map.getBaseEpoch() == 0 || map.getBaseEpoch() == epoch) {
                epoch = map.getEpoch();
            } else {
                behind = true;
            }
        }
    }

    @Override
    public Hello hello() {
        return hello;
    }

    @Override
    public InetSocketAddress address() {
        return ADDRESS;
    }

    @Override
    public boolean connected() {
        return true;
    }

    @Override
    public void onClose(Runnable action) {}

    @Override
    public void close(String reason) {}
}
