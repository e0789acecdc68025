package io.cairn.common.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PgHashTest {
    /**
     * Data lies where these say: a change makes every cluster unreadable. Computed apart from this
     * code.
     */
    @Test
    void goldenValues() {
        assertThat(PgHash.index(0, 0, 65536)).isEqualTo(18465);
        assertThat(PgHash.index(1, 0, 65536)).isEqualTo(56548);
        assertThat(PgHash.index(1, 1, 65536)).isEqualTo(24129);
        assertThat(PgHash.index(2, 0, 128)).isEqualTo(115);
        assertThat(PgHash.index(0x0001_0000_0000_0001L, 77, 100)).isEqualTo(41);
        assertThat(PgHash.index(-1, Integer.MAX_VALUE, 65536)).isEqualTo(10656);
    }

    @Test
    void onePgTakesAll() {
        for (int i = 0; i < 1000; i++) {
            assertThat(PgHash.index(i, i, 1)).isZero();
        }
    }

    @Test
    void numbersHoldPoolAndIndex() {
        int pg = PgHash.pg(PgHash.MAX_POOL, 65535);
        assertThat(PgHash.poolOf(pg)).isEqualTo(PgHash.MAX_POOL);
        assertThat(pg).isPositive();
        assertThat(PgHash.indexOf(pg)).isEqualTo(65535);
        assertThat(PgHash.pg(2, 5, 6, 128)).isEqualTo(2 << 16 | PgHash.index(5, 6, 128));
    }

    /** Likewise, of pools that have grown. */
    @Test
    void goldenValuesOfGrownPools() {
        assertThat(PgHash.index(2, 0, 128, 128)).isEqualTo(115);
        assertThat(PgHash.index(2, 0, 128, 256)).isEqualTo(115);
        assertThat(PgHash.index(2, 0, 100, 65536)).isEqualTo(31589);
    }

    @Test
    void aPoolThatDidNotGrowKeepsItsData() {
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            int pgs = 1 + random.nextInt(65536);
            long inode = random.nextLong();
            assertThat(PgHash.index(inode, i, pgs, pgs)).isEqualTo(PgHash.index(inode, i, pgs));
        }
    }

    /** With one PG more, chunks move only to it, and only from the one it is made of. */
    @Test
    void eachStepMovesFromOneToOne() {
        for (int base : new int[] {1, 2, 3, 5, 8, 13, 100}) {
            for (int n = base; n < base * 5 + 3; n++) {
                int parent = PgHash.parent(n, base);
                assertThat(parent).isBetween(0, n - 1);
                int moved = 0;
                int stayed = 0;
                for (int i = 0; i < 2000; i++) {
                    int before = PgHash.index(i * 7919L, i % 5, base, n);
                    int after = PgHash.index(i * 7919L, i % 5, base, n + 1);
                    if (before != after) {
                        assertThat(before).isEqualTo(parent);
                        assertThat(after).isEqualTo(n);
                        moved++;
                    } else if (before == parent) {
                        stayed++;
                    }
                }
                // A PG of 2000 / n chunks or more is not given away as a whole, or not at all.
                if (n <= 32) {
                    assertThat(moved).as("of %d to %d", parent, n).isPositive();
                    assertThat(stayed).as("of %d to %d", parent, n).isPositive();
                }
            }
        }
    }

    /** However often it was split since, its first ancestor is where the chunk was at first. */
    @Test
    void everyAncestryEndsInTheFirstPgOfAChunk() {
        for (int base : new int[] {1, 3, 8, 100}) {
            for (int n = base; n < base * 9; n++) {
                for (int i = 0; i < 200; i++) {
                    int pg = PgHash.index(i * 7919L, i % 5, base, n);
                    while (PgHash.parent(pg, base) >= 0) {
                        pg = PgHash.parent(pg, base);
                    }
                    assertThat(pg).isEqualTo(PgHash.index(i * 7919L, i % 5, base));
                }
            }
        }
    }

    @Test
    void theFirstOnesHaveNoParent() {
        assertThat(PgHash.parent(0, 1)).isEqualTo(-1);
        assertThat(PgHash.parent(127, 128)).isEqualTo(-1);
        assertThat(PgHash.parent(128, 128)).isZero();
        assertThat(PgHash.parent(255, 128)).isEqualTo(127);
        assertThat(PgHash.parent(256, 128)).isZero();
        assertThat(PgHash.parent(65535, 1)).isEqualTo(32767);
    }

    /** Where every PG was divided as often. */
    @Test
    void spreadsEvenlyAtDoublings() {
        for (int base : new int[] {1, 3, 16}) {
            for (int doublings = 1; doublings <= 4; doublings++) {
                int pgs = base << doublings;
                int[] counts = new int[pgs];
                for (int i = 0; i < 1000 * pgs; i++) {
                    counts[PgHash.index(1000L + i, 0, base, pgs)]++;
                }
                assertThat(Arrays.stream(counts).min().getAsInt()).isGreaterThan(820);
                assertThat(Arrays.stream(counts).max().getAsInt()).isLessThan(1180);
            }
        }
    }

    /** Consecutive inodes with one chunk, and one inode with many, as file systems have them. */
    @Test
    void spreadsEvenly() {
        int pgs = 128;
        int[] byInode = new int[pgs];
        int[] byChunk = new int[pgs];
        for (int i = 0; i < 128_000; i++) {
            byInode[PgHash.index(1000L + i, 0, pgs)]++;
            byChunk[PgHash.index(42, i, pgs)]++;
        }
        // 1000 expected each; 32 is a standard deviation.
        for (int[] counts : new int[][] {byInode, byChunk}) {
            assertThat(Arrays.stream(counts).min().getAsInt()).isGreaterThan(840);
            assertThat(Arrays.stream(counts).max().getAsInt()).isLessThan(1160);
        }
    }
}
