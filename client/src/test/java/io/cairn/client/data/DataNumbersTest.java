package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DataNumbersTest {
    private static final int ROOTS = 3;

    @Test
    void lowestOutstandingHoldsTheMark() {
        DataNumbers numbers = new DataNumbers();
        assertThat(numbers.ackedBelow(7)).isEqualTo(1);
        assertThat(numbers.begin(7)).isEqualTo(1);
        assertThat(numbers.begin(7)).isEqualTo(2);
        numbers.end(7, 2);
        assertThat(numbers.ackedBelow(7)).isEqualTo(1);
        numbers.end(7, 1);
        assertThat(numbers.ackedBelow(7)).isEqualTo(3);
        assertThatThrownBy(() -> numbers.end(7, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> numbers.end(7, 3)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> numbers.end(8, 3)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aNumberHoldsBackTheMarkOfItsRootOnly() {
        DataNumbers numbers = new DataNumbers();
        numbers.begin(7);
        long other = numbers.begin(8);
        assertThat(numbers.ackedBelow(8)).isEqualTo(2);
        numbers.end(8, other);
        assertThat(numbers.ackedBelow(8)).isEqualTo(3);
        assertThat(numbers.ackedBelow(9)).isEqualTo(3);
        assertThat(numbers.ackedBelow(7)).isEqualTo(1);
    }

    @Test
    void agreesWithASortedListWhateverTheOrder() {
        Random random = TestSeed.random("DataNumbersTest");
        DataNumbers numbers = new DataNumbers();
        List<List<Long>> outstanding = new ArrayList<>();
        for (int root = 0; root < ROOTS; root++) {
            outstanding.add(new ArrayList<>());
        }
        long next = 1;
        for (int i = 0; i < 20_000; i++) {
            int root = random.nextInt(ROOTS);
            List<Long> here = outstanding.get(root);
            if (here.isEmpty() || random.nextInt(100) < (i < 10_000 ? 55 : 45)) {
                assertThat(numbers.begin(root)).isEqualTo(next);
                here.add(next++);
            } else {
                numbers.end(root, here.remove(random.nextInt(here.size())));
            }
            assertThat(numbers.ackedBelow(root)).isEqualTo(here.isEmpty() ? next : here.getFirst());
        }
    }
}
