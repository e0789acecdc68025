package io.cairn.client.meta;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.IdRange;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeldIdsTest {
    private final HeldIds held = new HeldIds();
    private long now = Long.MAX_VALUE - 5;

    private static IdRange range(long first, int count) {
        return IdRange.newBuilder().setFirst(first).setLast(first + count - 1).build();
    }

    private void take(long first, int count) {
        for (long id = first; id < first + count; id++) {
            assertThat(held.take()).isEqualTo(id);
        }
    }

    @Test
    void theNextRangeIsAskedForWhenHalfOfTheNewestIsUsed() {
        assertThat(held.take()).isZero();
        assertThat(held.toAskFor(now)).isEqualTo(64);
        assertThat(held.toAskFor(now)).as("it is asked for").isZero();
        held.granted(range(100, 64));
        assertThat(held.toAskFor(now)).isZero();
        take(100, 31);
        assertThat(held.toAskFor(now)).isZero();
        take(131, 1);
        assertThat(held.toAskFor(now)).isEqualTo(128);
        take(132, 20);
        assertThat(held.toAskFor(now)).as("it is asked for").isZero();
        held.granted(range(500, 128));
        take(152, 12);
        take(500, 10);
        assertThat(held.toAskFor(now)).isZero();
        take(510, 118);
        assertThat(held.take()).isZero();
        assertThat(held.toAskFor(now)).isEqualTo(256);
    }

    @Test
    void noMoreThanTwoRangesAreHeldAndNoneIsTooLarge() {
        int count = 64;
        long first = 1000;
        for (int i = 0; i < 8; i++) {
            assertThat(held.toAskFor(now)).isEqualTo(count);
            held.granted(range(first, count));
            take(first, count / 2);
            if (i == 0) {
                held.granted(range(first + 10_000, 1024));
                assertThat(held.toAskFor(now)).as("two").isZero();
                take(first + count / 2, count / 2);
                take(first + 10_000, 1024);
                count *= 2;
            } else {
                take(first + count / 2, count / 2);
            }
            first += 100_000;
            count = Math.min(2 * count, 1024);
        }
        assertThat(count).isEqualTo(1024);
    }

    @Test
    void afterARefusalItRests() {
        assertThat(held.toAskFor(now)).isEqualTo(64);
        held.refused(now);
        now += TimeUnit.SECONDS.toNanos(10) - 1; // overflows
        assertThat(held.toAskFor(now)).isZero();
        now++;
        assertThat(held.toAskFor(now)).isEqualTo(64);
        held.granted(range(5, 1));
        take(5, 1);
        assertThat(held.toAskFor(now)).isEqualTo(128);
    }

    @Test
    void theEndOfASessionDropsEverything() {
        held.toAskFor(now);
        held.granted(range(100, 64));
        take(100, 40);
        assertThat(held.toAskFor(now)).isEqualTo(128);
        held.ended();
        assertThat(held.take()).isZero();
        assertThat(held.toAskFor(now)).isEqualTo(64);
        held.refused(now);
        held.ended();
        assertThat(held.toAskFor(now)).as("asks the next session").isEqualTo(64);
    }
}
