package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class AnsweredTableTest {
    /** One that is forgotten could have its last operation done again, over what others wrote. */
    @Test
    void keepsASessionOfEachOfTenThousandClients() {
        List<Answered> sessions =
                LongStream.rangeClosed(1, 10_000)
                        .mapToObj(session -> new Answered(session, 1, new long[] {5}))
                        .toList();
        assertThat(new AnsweredTable(sessions).toList())
                .usingRecursiveComparison()
                .isEqualTo(sessions);
    }

    /** {@code -Dcairn.test.seed} repeats it. */
    @Test
    void keepsTheNumbersThatAreNotAcknowledgedInWhateverOrderTheyCome() {
        long seed = TestSeed.of("AnsweredTableTest");
        Random random = new Random(seed);
        AnsweredTable table = new AnsweredTable(List.of());
        TreeSet<Long> expected = new TreeSet<>();
        long mark = 0;
        for (int i = 1; i <= 5000; i++) {
            long number = mark + 1 + random.nextInt(random.nextInt(100) == 0 ? 2000 : 50);
            long below = random.nextInt(20) == 0 ? mark + random.nextInt(40) : mark;
            table.add(executed(i, number, below));
            expected.add(number);
            if (below > mark) {
                mark = below;
                expected.headSet(mark).clear();
            }
            if (i % 100 == 0) {
                assertThat(table.toList())
                        .as("seed %d, after %d", seed, i)
                        .usingRecursiveComparison()
                        .isEqualTo(
                                List.of(
                                        new Answered(
                                                7,
                                                mark,
                                                expected.stream().mapToLong(n -> n).toArray())));
            }
        }
    }

    private static LoggedOp executed(long sequence, long number, long ackedBelow) {
        DataOp op =
                DataOp.write(
                        1,
                        new DataOp.Range(1, 0, 0, 0),
                        new DataOp.Caller(7, number, ackedBelow),
                        DataOp.Known.map(1),
                        new int[0]);
        HeldPayload none = new HeldPayload(Unpooled.EMPTY_BUFFER);
        return new LoggedOp(
                new WalRecord(1, 1, sequence, op, false, none, 0, 0, List.of()), null, sequence);
    }
}
