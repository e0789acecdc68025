package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.MapParts;
import io.cairn.common.proto.MapPart;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Broadcast;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MapHistoryTest {
    private static final ByteString ID = ByteString.copyFromUtf8("cluster");

    private final MapHistory history = new MapHistory(MapHistory.MAX_MESSAGE_BYTES);
    private ClusterMap map =
            ClusterMap.of(MapUpdate.newBuilder().setClusterId(ID).setEpoch(1).build());

    /** One more epoch. */
    private Broadcast change(MapUpdate.Builder what) {
        MapUpdate increment =
                what.setClusterId(ID).setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build();
        map = map.with(increment);
        return history.add(increment).getFirst();
    }

    private Broadcast refuse(long session) {
        return change(MapUpdate.newBuilder().addRefusedSessions(session));
    }

    /** What a holder of that epoch is sent. */
    private List<Broadcast> since(long epoch, ClusterMap present) {
        List<Broadcast> missed = history.between(epoch, present.epoch());
        return missed.isEmpty() ? history.whole(present) : missed;
    }

    private static MapUpdate update(Broadcast push) {
        return (MapUpdate) push.head();
    }

    @Test
    void whoMissedSomeGetsThoseAndNobodyMoreThanTheMapThatWasAskedOf() {
        Broadcast second = refuse(7);
        Broadcast third = refuse(8);
        ClusterMap present = map;
        refuse(9);
        assertThat(since(1, present)).containsExactly(second, third);
        assertThat(since(2, present)).containsExactly(third);
        ClusterMap there = ClusterMap.of(update(since(0, present).getFirst()));
        assertThat(there.epoch()).as("who has none gets all of it").isEqualTo(3);
        assertThat(there.toUpdate()).isEqualTo(present.toUpdate());
    }

    @Test
    void theWholeMapIsMadeOncePerEpoch() {
        refuse(7);
        List<Broadcast> whole = since(0, map);
        assertThat(since(0, map)).isEqualTo(whole);
        assertThat(history.update(map)).isSameAs(update(whole.getFirst()));
        refuse(8);
        assertThat(update(since(0, map).getFirst()).getEpoch()).isEqualTo(3);
    }

    @Test
    void isBoundedByEpochsAndBytes() {
        for (int i = 0; i <= MapHistory.MAX_EPOCHS; i++) {
            refuse(i);
        }
        assertThat(update(since(1, map).getFirst()).getBaseEpoch()).as("too old").isZero();
        assertThat(since(2, map)).hasSize(MapHistory.MAX_EPOCHS);

        String large = "h".repeat((int) MapHistory.MAX_BYTES / 4 - 1000);
        long from = map.epoch();
        for (int i = 1; i <= 5; i++) {
            change(MapUpdate.newBuilder().addServers(Server.newBuilder().setId(i).setHost(large)));
        }
        assertThat(history.between(from, map.epoch())).as("too many bytes").isEmpty();
        assertThat(history.between(from + 1, map.epoch())).hasSize(4);
    }

    @Test
    void anIncrementThatDoesNotContinueBeginsAnew() {
        refuse(7);
        MapUpdate later =
                MapUpdate.newBuilder().setClusterId(ID).setBaseEpoch(8).setEpoch(9).build();
        map = ClusterMap.of(MapUpdate.newBuilder().setClusterId(ID).setEpoch(9).build());
        Broadcast last = history.add(later).getFirst();
        assertThat(since(8, map)).containsExactly(last);
        assertThat(update(since(1, map).getFirst()).getBaseEpoch()).isZero();
        history.clear();
        assertThat(update(since(8, map).getFirst()).getBaseEpoch()).isZero();
        assertThat(Objects.requireNonNull(ClusterMap.EMPTY.apply(history.update(map))).epoch())
                .isEqualTo(9);
    }

    @Test
    void whatIsLargerThanAMessageGoesInParts() {
        MapHistory small = new MapHistory(2000);
        MapUpdate.Builder increment =
                MapUpdate.newBuilder().setClusterId(ID).setBaseEpoch(1).setEpoch(2);
        for (int i = 1; i <= 100; i++) {
            increment.addServers(Server.newBuilder().setId(i).setHost("h".repeat(100)));
        }
        map = map.with(increment.build());
        List<Broadcast> parts = small.add(increment.build());
        assertThat(parts)
                .hasSizeGreaterThan(4)
                .allMatch(p -> p.method() == Method.MAP_PART_VALUE && p.lengthBytes() < 2200);
        assertThat(together(parts)).isEqualTo(increment.build());
        assertThat(small.between(1, 2)).isEqualTo(parts);
        assertThat(small.isCut(map)).isTrue();
        assertThat(together(small.whole(map))).isEqualTo(map.toUpdate());
        assertThat(history.isCut(map)).isFalse();
    }

    private static @Nullable MapUpdate together(List<Broadcast> pushes) {
        MapParts parts = new MapParts();
        MapUpdate last = null;
        for (Broadcast push : pushes) {
            last = parts.add((MapPart) push.head());
        }
        return last;
    }
}
