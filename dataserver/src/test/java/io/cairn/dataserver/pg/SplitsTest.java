package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.Split;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** When a replica of a group that a split makes begins on a disk. */
class SplitsTest {
    private static final int PARENT = PgHash.pg(1, 0);
    private static final int CHILD = PgHash.pg(1, 1);

    private final MapUpdate.Builder map =
            MapUpdate.newBuilder()
                    .setEpoch(9)
                    .addPools(Pool.newBuilder().setId(1).setPgBase(1).setPgCount(2).setPgTarget(4));
    private final List<String> begun = new ArrayList<>();
    private boolean there;
    private long lastEpoch;

    private final Splits.OnDisk disk =
            new Splits.OnDisk() {
                @Override
                public boolean has(int pg) {
                    return there;
                }

                @Override
                public long lastEpoch(int pg) {
                    return lastEpoch;
                }

                @Override
                public boolean begin(int pg, int parent, boolean parentIsHere) {
                    begun.add("%x of %x: %s".formatted(pg, parent, parentIsHere));
                    return true;
                }
            };

    private void group(int pg, List<Integer> replicas, List<Integer> inSync, long splitEpoch) {
        map.addPgs(
                PlacementGroup.newBuilder()
                        .setPg(pg)
                        .setEpoch(9)
                        .addAllReplicas(replicas)
                        .addAllInSync(inSync)
                        .setSplitEpoch(splitEpoch));
    }

    private boolean mayBegin() {
        ClusterMap made = ClusterMap.of(map.build());
        PlacementGroup child = Objects.requireNonNull(made.pg(CHILD));
        return Splits.mayBegin(made, child, 10, disk);
    }

    @Test
    void aMemberWaitsUntilTheSplitIsCarriedOut() {
        group(PARENT, List.of(10, 20), List.of(10, 20), 0);
        group(CHILD, List.of(10, 20), List.of(10, 20), 9);
        assertThat(mayBegin()).isFalse();
        there = true;
        assertThat(mayBegin()).isTrue();
        assertThat(begun).isEmpty();
    }

    @Test
    void aLearnerOfTheParentWaitsEvenWhenTheSplitIsOver() {
        group(PARENT, List.of(10, 20), List.of(20), 0);
        group(CHILD, List.of(10, 20), List.of(20), 0);
        assertThat(mayBegin()).isFalse();
    }

    @Test
    void whoHasCaughtUpWithTheParentOtherwiseBegins() {
        group(PARENT, List.of(10, 20), List.of(10, 20), 0);
        group(CHILD, List.of(10, 20), List.of(20), 0);
        assertThat(mayBegin()).isTrue();
        assertThat(begun).containsExactly("10001 of 10000: true");
    }

    @Test
    void whereTheParentIsNotItBegins() {
        group(PARENT, List.of(20, 30), List.of(20, 30), 0);
        group(CHILD, List.of(10, 20), List.of(20), 0);
        assertThat(mayBegin()).isTrue();
        assertThat(begun).containsExactly("10001 of 10000: false");
    }

    @Test
    void aGroupOfTheBeginningAlwaysBegins() {
        map.clearPools().addPools(Pool.newBuilder().setId(1).setPgCount(2));
        group(PARENT, List.of(10, 20), List.of(10, 20), 0);
        group(CHILD, List.of(10, 20), List.of(10, 20), 0);
        assertThat(mayBegin()).isTrue();
        assertThat(begun).isEmpty();
    }

    /** It is removed first, or its history would be taken for that of the group there is now. */
    @Test
    void whatIsLeftOfAGroupThatWasMergedIsWaitedFor() {
        group(PARENT, List.of(20, 30), List.of(20, 30), 0);
        group(CHILD, List.of(10, 20), List.of(20), 0);
        map.setPgs(1, map.getPgs(1).toBuilder().setMadeEpoch(7));
        there = true;
        lastEpoch = 6;
        assertThat(mayBegin()).isFalse();
        lastEpoch = 7;
        assertThat(mayBegin()).isTrue();
        there = false;
        lastEpoch = 0;
        assertThat(mayBegin()).isTrue();
    }

    @Test
    void theMapSaysWhichSplitIsNotCarriedOut() {
        group(PARENT, List.of(10, 20), List.of(10, 20), 0);
        group(CHILD, List.of(10, 20), List.of(10, 20), 9);
        ClusterMap made = ClusterMap.of(map.build());
        assertThat(Splits.of(made, PARENT)).isEqualTo(new Split(CHILD, 1, 9));
        assertThat(Splits.of(made, CHILD)).isNull();
    }

    /** Those that one change of the map may split. */
    @Test
    void whatIsSplitNextIsKnown() {
        group(PARENT, List.of(10, 20), List.of(10, 20), 0);
        group(CHILD, List.of(30, 40), List.of(30, 40), 0);
        assertThat(Splits.next(ClusterMap.of(map.build()))).containsOnly(PARENT, CHILD);
        group(CHILD, List.of(20, 40), List.of(20, 40), 0);
        assertThat(Splits.next(ClusterMap.of(map.build()))).containsExactly(PARENT);
    }
}
