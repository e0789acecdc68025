package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How far two histories are the same, beside what their operations say one by one. */
class PgHistoryTest {
    private static final int ROUNDS = 20_000;

    private final long seed = TestSeed.of("PgHistoryTest");
    private final Random random = new Random(seed);

    /** Epoch of each operation, from sequence 1 on; never smaller than the one before. */
    private List<Long> grown(List<Long> from, int operations, long least) {
        List<Long> epochs = new ArrayList<>(from);
        for (int i = 0; i < operations; i++) {
            long before = epochs.isEmpty() ? 1 : epochs.getLast();
            epochs.add(Math.max(before, least) + (random.nextInt(3) == 0 ? 2 : 0));
        }
        return epochs;
    }

    /** Of the epochs that began before the last committed operation it knows some only. */
    private PgHistory history(List<Long> epochs, int committed) {
        List<EpochStart> starts = new ArrayList<>();
        for (int i = 0; i < epochs.size(); i++) {
            if (i == 0 || !epochs.get(i).equals(epochs.get(i - 1))) {
                starts.add(new EpochStart(epochs.get(i), i + 1));
            }
        }
        while (starts.size() > 1
                && starts.get(1).firstSequence() <= committed
                && random.nextBoolean()) {
            starts.removeFirst();
        }
        return new PgHistory(
                epochs.isEmpty() ? 0 : epochs.getLast(), epochs.size(), committed, starts);
    }

    @Test
    void whatIsSharedIsTheSameAndAsMuchAsIsKnown() {
        int beyondCommitted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            List<Long> common = grown(List.of(), random.nextInt(12), 1);
            int committed = random.nextInt(common.size() + 1);
            // of one epoch there is one primary: the tails are of different ones
            List<Long> mine = grown(common, random.nextInt(5), 101);
            List<Long> others = grown(common, random.nextInt(12), 102);
            PgHistory other =
                    history(others, committed + random.nextInt(others.size() - committed + 1));
            PgHistory own = history(mine, committed);

            long shared = own.sharedWith(other);
            assertThat(shared)
                    .as("-Dcairn.test.seed=%d round %d: %s in %s", seed, round, own, other)
                    .isBetween((long) committed, (long) common.size());
            if (other.epochAt(Math.max(1, common.size())) != PgHistory.NONE) {
                assertThat(shared)
                        .as("-Dcairn.test.seed=%d round %d: %s in %s", seed, round, own, other)
                        .isEqualTo(common.size());
            }
            beyondCommitted += shared > committed ? 1 : 0;
        }
        assertThat(beyondCommitted).isPositive();
    }
}
