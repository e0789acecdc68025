package io.cairn.common.map;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.MapPart;
import io.cairn.common.proto.MapUpdate;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Map updates that are larger than a message may be: {@link #cut} by the sender, and put together
 * again by a receiver, which has one object of this class. Any thread.
 */
public final class MapParts {
    /** Of tag and length of a row, at most. */
    private static final int ROW_BYTES = 8;

    private MapUpdate.@Nullable Builder pending;
    private int next;

    /**
     * An update in parts, in order. Each has the epochs and some of the rows.
     *
     * @param maxBytes of the rows of a part; one that is larger makes a part by itself
     */
    public static List<MapPart> cut(MapUpdate update, int maxBytes) {
        Cutter cutter = new Cutter(update, maxBytes);
        update.getServersList().forEach(s -> cutter.room(s).addServers(s));
        update.getDisksList().forEach(d -> cutter.room(d).addDisks(d));
        update.getPoolsList().forEach(p -> cutter.room(p).addPools(p));
        update.getPgsList().forEach(g -> cutter.room(g).addPgs(g));
        update.getMdsList().forEach(m -> cutter.room(m).addMds(m));
        update.getRefusedSessionsList().forEach(s -> cutter.room(8).addRefusedSessions(s));
        update.getForgottenSessionsList().forEach(s -> cutter.room(8).addForgottenSessions(s));
        List<MapPart> parts = new ArrayList<>();
        for (MapUpdate.Builder rows : cutter.parts) {
            parts.add(
                    MapPart.newBuilder()
                            .setRows(rows)
                            .setPart(parts.size())
                            .setParts(cutter.parts.size())
                            .build());
        }
        return parts;
    }

    private static final class Cutter {
        final List<MapUpdate.Builder> parts = new ArrayList<>();
        private final MapUpdate frame;
        private final int maxBytes;
        private int bytes;

        Cutter(MapUpdate update, int maxBytes) {
            this.maxBytes = maxBytes;
            frame =
                    MapUpdate.newBuilder()
                            .setClusterId(update.getClusterId())
                            .setBaseEpoch(update.getBaseEpoch())
                            .setEpoch(update.getEpoch())
                            .setSessionFloor(update.getSessionFloor())
                            .build();
            parts.add(frame.toBuilder());
        }

        MapUpdate.Builder room(MessageLite row) {
            return room(row.getSerializedSize());
        }

        MapUpdate.Builder room(int rowBytes) {
            if (bytes > 0 && bytes + rowBytes + ROW_BYTES > maxBytes) {
                parts.add(frame.toBuilder());
                bytes = 0;
            }
            bytes += rowBytes + ROW_BYTES;
            return parts.getLast();
        }
    }

    /**
     * Takes the next part of an update. One that does not follow the part before is dropped, unless
     * it is the first of another update: who misses an update asks for it.
     *
     * @return the whole update with its last part, else null
     */
    public synchronized @Nullable MapUpdate add(MapPart part) {
        MapUpdate rows = part.getRows();
        MapUpdate.@Nullable Builder known = pending;
        if (part.getPart() == 0) {
            known = rows.toBuilder();
        } else if (known != null
                && part.getPart() == next
                && known.getEpoch() == rows.getEpoch()
                && known.getBaseEpoch() == rows.getBaseEpoch()) {
            known.mergeFrom(rows);
        } else {
            known = null;
        }
        next = part.getPart() + 1;
        boolean complete = next == part.getParts();
        pending = complete ? null : known;
        return complete && known != null ? known.build() : null;
    }
}
