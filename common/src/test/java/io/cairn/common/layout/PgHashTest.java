package io.cairn.common.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
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
        int pg = PgHash.pg(65535, 65535);
        assertThat(PgHash.poolOf(pg)).isEqualTo(65535);
        assertThat(PgHash.indexOf(pg)).isEqualTo(65535);
        assertThat(PgHash.pg(2, 5, 6, 128)).isEqualTo(2 << 16 | PgHash.index(5, 6, 128));
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
