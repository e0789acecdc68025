package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DataNumbersTest {
    @Test
    void lowestOutstandingHoldsTheMark() {
        DataNumbers numbers = new DataNumbers();
        assertThat(numbers.ackedBelow()).isEqualTo(1);
        assertThat(numbers.begin()).isEqualTo(1);
        assertThat(numbers.begin()).isEqualTo(2);
        numbers.end(2);
        assertThat(numbers.ackedBelow()).isEqualTo(1);
        numbers.end(1);
        assertThat(numbers.ackedBelow()).isEqualTo(3);
        assertThatThrownBy(() -> numbers.end(1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> numbers.end(3)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void agreesWithASortedListWhateverTheOrder() {
        Random random = TestSeed.random("DataNumbersTest");
        DataNumbers numbers = new DataNumbers();
        List<Long> outstanding = new ArrayList<>();
        long next = 1;
        for (int i = 0; i < 20_000; i++) {
            if (outstanding.isEmpty() || random.nextInt(100) < (i < 10_000 ? 55 : 45)) {
                assertThat(numbers.begin()).isEqualTo(next);
                outstanding.add(next++);
            } else {
                numbers.end(outstanding.remove(random.nextInt(outstanding.size())));
            }
            assertThat(numbers.ackedBelow())
                    .isEqualTo(outstanding.isEmpty() ? next : outstanding.getFirst());
        }
    }
}
