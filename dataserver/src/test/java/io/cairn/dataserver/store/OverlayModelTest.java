package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Overlay and index together show what the history means, at every moment: also while the index has
 * more of it than the overlay has forgotten. {@code -Dcairn.test.seed} repeats one run, {@code
 * -Dcairn.test.runs} does more of them.
 */
class OverlayModelTest {
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 3000);
    private static final int STEPS = 100;

    @Test
    void showsTheHistoryAfterEveryStep() {
        for (long seed : TestSeed.several("OverlayModelTest", RUNS).toArray()) {
            try {
                run(new Random(seed));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
            }
        }
    }

    private static void run(Random random) {
        OverlayHistory h = new OverlayHistory(random);
        for (int step = 0; step < STEPS; step++) {
            h.step();
            compare(h, random);
        }
    }

    private static void compare(OverlayHistory h, Random random) {
        ModelPg.State expected = h.now();
        int size = OverlayHistory.USED_BYTES;
        for (long inode = 1; inode <= OverlayHistory.INODES; inode++) {
            for (int chunk = 0; chunk < OverlayHistory.CHUNKS; chunk++) {
                String where = "inode %d, chunk %d".formatted(inode, chunk);
                byte[] all = expected.bytes(inode, chunk);
                assertThat(h.read(inode, chunk, 0, size)).as(where).isEqualTo(all);
                int from = random.nextInt(size);
                int to = from + 1 + random.nextInt(size - from);
                assertThat(h.read(inode, chunk, from, to))
                        .as("bytes %d to %d of %s", from, to, where)
                        .isEqualTo(part(all, from, to));
                if (!h.wasDeleted(inode)) {
                    assertThat(h.truncateSequence(inode, chunk))
                            .as("truncate sequence of " + where)
                            .isEqualTo(expected.truncateSequence(inode, chunk));
                }
            }
        }
    }

    private static byte[] part(byte[] all, int from, int to) {
        return Arrays.copyOfRange(all, Math.min(from, all.length), Math.min(to, all.length));
    }
}
