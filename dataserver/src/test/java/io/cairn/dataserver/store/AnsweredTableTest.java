package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.List;
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
}
