package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Broadcast;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last increments of the cluster map, and the newest map as a whole, each encoded once however
 * many peers it is sent to. Bounded by epochs and bytes: who has missed more gets the whole map.
 * Any thread.
 */
final class MapHistory {
    static final int MAX_EPOCHS = 1024;
    static final long MAX_BYTES = 32 << 20;

    private final Deque<Increment> increments = new ArrayDeque<>();
    private long bytes;
    private @Nullable Whole whole;

    private record Increment(long base, long epoch, Broadcast push) {}

    private record Whole(ClusterMap map, MapUpdate update, Broadcast push) {}

    /** The increment that leads to the newest map; one that does not continue begins anew. */
    synchronized Broadcast add(MapUpdate update) {
        Broadcast push = new Broadcast(Method.MAP_PUSH_VALUE, update);
        @Nullable Increment last = increments.peekLast();
        if (last != null && last.epoch != update.getBaseEpoch()) {
            clear();
        }
        increments.add(new Increment(update.getBaseEpoch(), update.getEpoch(), push));
        bytes += push.lengthBytes();
        while (increments.size() > MAX_EPOCHS || bytes > MAX_BYTES) {
            bytes -= increments.remove().push.lengthBytes();
        }
        return push;
    }

    synchronized void clear() {
        increments.clear();
        bytes = 0;
        whole = null;
    }

    /**
     * What leads a holder of the map of one epoch to this map: the increments in between, or the
     * whole map where one of them is not known any more.
     */
    List<Broadcast> since(long epoch, ClusterMap present) {
        List<Broadcast> missed = between(epoch, present.epoch());
        return missed.isEmpty() ? List.of(whole(present).push) : missed;
    }

    /** In order; empty where not all of them are known. */
    private synchronized List<Broadcast> between(long from, long to) {
        List<Broadcast> missed = new ArrayList<>();
        long reached = from;
        for (Increment increment : increments) {
            if (from > 0 && increment.base == reached && increment.epoch <= to) {
                missed.add(increment.push);
                reached = increment.epoch;
            }
        }
        return reached == to ? missed : List.of();
    }

    /** The whole map as a message. */
    MapUpdate update(ClusterMap map) {
        return whole(map).update;
    }

    private synchronized Whole whole(ClusterMap map) {
        @Nullable Whole known = whole;
        if (known == null || known.map != map) {
            MapUpdate update = map.toUpdate();
            known = new Whole(map, update, new Broadcast(Method.MAP_PUSH_VALUE, update));
            whole = known;
        }
        return known;
    }
}
