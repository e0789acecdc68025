package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.MapParts;
import io.cairn.common.proto.MapPart;
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
 * many peers it is sent to, in parts where one message would be too large. Bounded by epochs and
 * bytes: who has missed more gets the whole map. Any thread.
 */
final class MapHistory {
    static final int MAX_EPOCHS = 1024;
    static final long MAX_BYTES = 32 << 20;

    /** Of one message; about half of what a connection takes. */
    static final int MAX_MESSAGE_BYTES = 8 << 20;

    private final int messageBytes;
    private final Deque<Increment> increments = new ArrayDeque<>();
    private long bytes;

    /** Held while the whole map is made, which takes long: nobody who asks for increments waits. */
    private final Object making = new Object();

    private @Nullable Whole whole;

    private record Increment(long base, long epoch, List<Broadcast> pushes) {
        long lengthBytes() {
            return pushes.stream().mapToLong(Broadcast::lengthBytes).sum();
        }
    }

    private record Whole(ClusterMap map, MapUpdate update, List<Broadcast> pushes) {}

    /**
     * @param messageBytes what is larger is sent in parts
     */
    MapHistory(int messageBytes) {
        this.messageBytes = messageBytes;
    }

    /** The increment that leads to the newest map; one that does not continue begins anew. */
    synchronized List<Broadcast> add(MapUpdate update) {
        @Nullable Increment last = increments.peekLast();
        if (last != null && last.epoch != update.getBaseEpoch()) {
            clear();
        }
        Increment added = new Increment(update.getBaseEpoch(), update.getEpoch(), pushes(update));
        increments.add(added);
        bytes += added.lengthBytes();
        while (increments.size() > MAX_EPOCHS || bytes > MAX_BYTES) {
            bytes -= increments.remove().lengthBytes();
        }
        return added.pushes;
    }

    private List<Broadcast> pushes(MapUpdate update) {
        if (update.getSerializedSize() <= messageBytes) {
            return List.of(new Broadcast(Method.MAP_PUSH_VALUE, update));
        }
        List<Broadcast> parts = new ArrayList<>();
        for (MapPart part : MapParts.cut(update, messageBytes)) {
            parts.add(new Broadcast(Method.MAP_PART_VALUE, part));
        }
        return parts;
    }

    synchronized void clear() {
        increments.clear();
        bytes = 0;
    }

    /**
     * The increments that lead from the map of one epoch, which is not 0, to that of another; empty
     * where not all of them are known any more.
     */
    synchronized List<Broadcast> between(long from, long to) {
        List<Broadcast> missed = new ArrayList<>();
        long reached = from;
        for (Increment increment : increments) {
            if (from > 0 && increment.base == reached && increment.epoch <= to) {
                missed.addAll(increment.pushes);
                reached = increment.epoch;
            }
        }
        return reached == to ? missed : List.of();
    }

    /** Whether the whole map is more than one message. */
    boolean isCut(ClusterMap map) {
        return whole(map).size() > 1;
    }

    /** The whole map, however large. */
    MapUpdate update(ClusterMap map) {
        return known(map).update;
    }

    /** The whole map. */
    List<Broadcast> whole(ClusterMap map) {
        return known(map).pushes;
    }

    private Whole known(ClusterMap map) {
        synchronized (making) {
            @Nullable Whole known = whole;
            if (known == null || known.map != map) {
                MapUpdate update = map.toUpdate();
                known = new Whole(map, update, pushes(update));
                whole = known;
            }
            return known;
        }
    }
}
