package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** By a pool that was made with three groups. */
class NextSplitsTest {
    private static final int[] A = {1, 2};
    private static final int[] B = {3, 4};
    private static final int[] C = {5, 6};
    private static final int[] LIKE_A = {7, 1};

    /** The indexes of the groups that are split. */
    private static List<Integer> parents(int target, int[]... groups) {
        Pool pool =
                Pool.newBuilder()
                        .setId(1)
                        .setName("p")
                        .setPgBase(3)
                        .setPgCount(groups.length)
                        .setPgTarget(target)
                        .build();
        MapUpdate.Builder map = MapUpdate.newBuilder().setEpoch(1).addPools(pool);
        for (int i = 0; i < groups.length; i++) {
            List<Integer> disks = Arrays.stream(groups[i]).boxed().toList();
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(1, i))
                            .addAllReplicas(disks)
                            .addAllInSync(disks));
        }
        return NextSplits.parents(ClusterMap.of(map.build()), pool).stream()
                .map(g -> PgHash.indexOf(g.getPg()))
                .toList();
    }

    @Test
    void nothingWhereThePoolHasWhatItIsToHave() {
        assertThat(parents(3, A, B, C)).isEmpty();
        assertThat(parents(0, A, B, C)).isEmpty();
    }

    @Test
    void thoseOnDifferentDisksInOrder() {
        assertThat(parents(6, A, B, C)).containsExactly(0, 1, 2);
        assertThat(parents(5, A, B, C)).as("no more than are wanted").containsExactly(0, 1);
    }

    @Test
    void upToOneThatSharesADisk() {
        assertThat(parents(6, A, LIKE_A, C)).containsExactly(0);
        assertThat(parents(6, A, B, LIKE_A)).containsExactly(0, 1);
    }

    /** From six groups on the seventh is made of the first again. */
    @Test
    void notBeyondAnEvenNumber() {
        assertThat(parents(12, A, B, C, A, B)).containsExactly(2);
        assertThat(parents(12, A, B, C, A, B, C)).containsExactly(0, 1, 2);
    }

    @Test
    void aBoundedNumber() {
        int[][] groups =
                Stream.iterate(0, i -> i + 2)
                        .limit(96)
                        .map(i -> new int[] {i + 1, i + 2})
                        .toArray(int[][]::new);
        assertThat(parents(192, groups)).hasSize(64).startsWith(0, 1).endsWith(63);
    }

    @Test
    void groupsAreAlikeWhereAllWereDividedAsOften() {
        Pool pool = Pool.newBuilder().setPgBase(3).setPgCount(24).build();
        assertThat(Stream.iterate(3, n -> n + 1).limit(22).filter(n -> NextSplits.isEven(pool, n)))
                .containsExactly(3, 6, 12, 24);
    }
}
