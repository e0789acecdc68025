package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BlockAllocatorTest {
    private static BlockAllocator backed(long blocks) {
        BlockAllocator a = new BlockAllocator(blocks);
        a.back(0, a.regions());
        return a;
    }

    @Test
    void givesOutOnlyBlocksOfBackedRegions() {
        int region = BlockAllocator.REGION_BLOCKS;
        BlockAllocator a = new BlockAllocator(4L * region + 10);
        a.markUsed(2 * region + 5, 1);
        assertThat(a.allocate(1)).isNull();
        assertThat(a.freeBlocks()).isZero();
        assertThat(a.unbackedBlocks()).isEqualTo(4L * region + 10 - 2);
        assertThat(a.isInUse(0)).as("the superblock").isTrue();
        assertThat(a.isInUse(1)).isFalse();
        assertThat(a.isInUse(2)).isTrue();
        assertThat(a.regionBlocks(4)).isEqualTo(10);

        a.back(2, 1);
        a.back(4, 1);
        assertThat(a.freeBlocks()).isEqualTo(region - 1 + 10);
        assertThat(a.allocate(2 * region))
                .as("a run ends with its region")
                .isEqualTo(new BlockRun(2 * region + 6, region - 6));
        assertThat(a.allocate(100)).isEqualTo(new BlockRun(4L * region, 10));
        assertThat(a.allocate(100)).isEqualTo(new BlockRun(2L * region, 5));
        assertThat(a.allocate(1)).isNull();

        a.release(2 * region + 5, 1);
        assertThat(a.freeBlocks()).isEqualTo(1);
        a.back(2, 1);
        assertThat(a.freeBlocks()).as("backed once").isEqualTo(1);
        a.back(0, a.regions());
        assertThat(a.freeBlocks()).isEqualTo(3L * region);
        assertThat(a.unbackedBlocks()).isZero();
    }

    @Test
    void agreesWithABitSet() {
        long seed = TestSeed.of("BlockAllocatorTest");
        Random random = new Random(seed);
        int blocks = 3 * 4096 + 77;
        BlockAllocator a = backed(blocks);
        BitSet used = new BitSet();
        used.set(0);
        for (int i = 0; i < 20_000; i++) {
            if (random.nextInt(5) < 3) {
                BlockRun run = a.allocate(1 + random.nextInt(random.nextInt(20) == 0 ? 2000 : 30));
                if (run == null) {
                    assertThat(used.cardinality()).as("seed %d", seed).isEqualTo(blocks);
                    continue;
                }
                for (int b = (int) run.first(); b < run.end(); b++) {
                    assertThat(used.get(b)).as("seed %d, block %d", seed, b).isFalse();
                    used.set(b);
                }
            } else {
                int b = 1 + random.nextInt(blocks - 1);
                int end = Math.min(blocks, b + random.nextInt(40));
                for (; b < end; b++) {
                    if (used.get(b)) {
                        a.release(b, 1);
                        used.clear(b);
                    }
                }
            }
            assertThat(a.freeBlocks()).isEqualTo(blocks - used.cardinality());
        }
    }

    @Test
    void prefersOneRun() {
        BlockAllocator a = backed(100);
        a.markUsed(10, 5);
        assertThat(a.allocate(50)).isEqualTo(new BlockRun(15, 50));
        assertThat(a.allocate(50)).as("the longest there is").isEqualTo(new BlockRun(65, 35));
    }

    @Test
    void refusesDoubleUse() {
        BlockAllocator a = backed(100);
        a.markUsed(10, 5);
        assertThatThrownBy(() -> a.markUsed(14, 1)).hasMessageContaining("used twice");
        assertThatThrownBy(() -> a.markUsed(99, 2)).hasMessageContaining("outside");
        assertThatThrownBy(() -> a.release(20, 1)).hasMessageContaining("freed twice");
    }
}
