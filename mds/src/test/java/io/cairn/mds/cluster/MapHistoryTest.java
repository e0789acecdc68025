package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Broadcast;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class MapHistoryTest {
    private static final ByteString ID = ByteString.copyFromUtf8("cluster");

    private final MapHistory history = new MapHistory();
    private ClusterMap map =
            ClusterMap.of(MapUpdate.newBuilder().setClusterId(ID).setEpoch(1).build());

    /** One more epoch. */
    private Broadcast change(MapUpdate.Builder what) {
        MapUpdate increment =
                what.setClusterId(ID).setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build();
        map = map.with(increment);
        return history.add(increment);
    }

    private Broadcast refuse(long session) {
        return change(MapUpdate.newBuilder().addRefusedSessions(session));
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
        assertThat(history.since(1, present)).containsExactly(second, third);
        assertThat(history.since(2, present)).containsExactly(third);
        ClusterMap there = ClusterMap.of(update(history.since(0, present).getFirst()));
        assertThat(there.epoch()).as("who has none gets all of it").isEqualTo(3);
        assertThat(there.toUpdate()).isEqualTo(present.toUpdate());
    }

    @Test
    void theWholeMapIsMadeOncePerEpoch() {
        refuse(7);
        List<Broadcast> whole = history.since(0, map);
        assertThat(history.since(0, map)).isEqualTo(whole);
        assertThat(history.update(map)).isSameAs(update(whole.getFirst()));
        refuse(8);
        assertThat(update(history.since(0, map).getFirst()).getEpoch()).isEqualTo(3);
    }

    @Test
    void isBoundedByEpochsAndBytes() {
        for (int i = 0; i <= MapHistory.MAX_EPOCHS; i++) {
            refuse(i);
        }
        assertThat(update(history.since(1, map).getFirst()).getBaseEpoch()).as("too old").isZero();
        assertThat(history.since(2, map)).hasSize(MapHistory.MAX_EPOCHS);

        String large = "h".repeat((int) MapHistory.MAX_BYTES / 4);
        long from = map.epoch();
        for (int i = 1; i <= 4; i++) {
            change(MapUpdate.newBuilder().addServers(Server.newBuilder().setId(i).setHost(large)));
        }
        assertThat(update(history.since(from, map).getFirst()).getBaseEpoch()).isZero();
        assertThat(history.since(from + 1, map)).hasSize(3);
    }

    @Test
    void anIncrementThatDoesNotContinueBeginsAnew() {
        refuse(7);
        MapUpdate later =
                MapUpdate.newBuilder().setClusterId(ID).setBaseEpoch(8).setEpoch(9).build();
        map = ClusterMap.of(MapUpdate.newBuilder().setClusterId(ID).setEpoch(9).build());
        Broadcast last = history.add(later);
        assertThat(history.since(8, map)).containsExactly(last);
        assertThat(update(history.since(1, map).getFirst()).getBaseEpoch()).isZero();
        history.clear();
        assertThat(update(history.since(8, map).getFirst()).getBaseEpoch()).isZero();
        assertThat(Objects.requireNonNull(ClusterMap.EMPTY.apply(history.update(map))).epoch())
                .isEqualTo(9);
    }
}
