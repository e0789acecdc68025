package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import org.junit.jupiter.api.Test;

/** Which replicas end, and what is removed, because their group was merged. */
class MergesTest {
    private static final int CHILD = PgHash.pg(1, 1);

    private static ClusterMap map(int groups, long madeEpoch) {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .setEpoch(50)
                        .addPools(
                                Pool.newBuilder()
                                        .setId(1)
                                        .setPgBase(1)
                                        .setPgCount(groups)
                                        .setMergedEpoch(30));
        for (int i = 0; i < groups; i++) {
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(1, i))
                            .setEpoch(50)
                            .setMadeEpoch(i == 0 ? 0 : madeEpoch));
        }
        return ClusterMap.of(map.build());
    }

    @Test
    void aReplicaEndsWithItsGroup() {
        assertThat(Merges.isGone(map(1, 0), CHILD, 20, 7)).isTrue();
        assertThat(Merges.isGone(map(1, 0), CHILD, 0, 0)).isTrue();
        assertThat(Merges.isGone(map(1, 0), PgHash.pg(1, 0), 20, 7)).isFalse();
    }

    /** A server that was cut off may never have seen a map without the number. */
    @Test
    void aReplicaDoesNotGoOnAsAnotherGroupOfItsNumber() {
        assertThat(Merges.isGone(map(2, 40), CHILD, 20, 7)).isTrue();
        assertThat(Merges.isGone(map(2, 40), CHILD, 40, 7)).isFalse();
    }

    /** The disk keeps an epoch of a group that has ended; what begins after it is the new one. */
    @Test
    void aReplicaOfNothingGoesOn() {
        assertThat(Merges.isGone(map(2, 40), CHILD, 21, 0)).isFalse();
    }

    @Test
    void whatAMergedGroupHasLeftIsRemoved() {
        assertThat(Merges.isEnded(map(1, 0), CHILD, 20)).isTrue();
        assertThat(Merges.isEnded(map(1, 0), CHILD, 0)).isTrue();
        assertThat(Merges.isEnded(map(2, 40), CHILD, 20)).isTrue();
        assertThat(Merges.isEnded(map(2, 40), CHILD, 40)).isFalse();
    }

    /** The loop that owns the group may have a map of before the split for a while. */
    @Test
    void whatASplitMakesByANewerMapIsNotRemoved() {
        assertThat(Merges.isEnded(map(1, 0), CHILD, 50)).isTrue();
        assertThat(Merges.isEnded(map(1, 0), CHILD, 51)).isFalse();
        assertThat(Merges.isNewer(map(1, 0), 50)).isFalse();
        assertThat(Merges.isNewer(map(1, 0), 51)).isTrue();
    }
}
