package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ByteBudgetTest {
    private final ByteBudget budget = new ByteBudget(100);
    private final List<String> started = new ArrayList<>();

    private void acquire(String name, long bytes) {
        budget.acquire(bytes, () -> started.add(name));
    }

    @Test
    void whatDoesNotFitWaitsInOrder() {
        acquire("a", 60);
        acquire("b", 60);
        acquire("c", 10); // would fit, but b was first
        assertThat(started).containsExactly("a");
        assertThat(budget.waiting()).isEqualTo(2);
        budget.release(60);
        assertThat(started).containsExactly("a", "b", "c");
        assertThat(budget.usedBytes()).isEqualTo(70);
    }

    @Test
    void somethingLargerThanAllOfItGoesAlone() {
        acquire("a", 1);
        acquire("b", 500);
        assertThat(started).containsExactly("a");
        budget.release(1);
        assertThat(started).containsExactly("a", "b");
        acquire("c", 1);
        assertThat(started).hasSize(2);
        budget.release(500);
        assertThat(started).hasSize(3);
    }

    @Test
    void oneThatCannotStartDoesNotHoldUpTheOthers() {
        acquire("a", 100);
        budget.acquire(
                60,
                () -> {
                    throw new OutOfMemoryError("of direct memory");
                });
        acquire("b", 40);
        budget.release(100);
        assertThat(started).containsExactly("a", "b");
    }

    @Test
    void startsThatEndAtOnceDoNotDeepenTheStack() {
        acquire("first", 100);
        int[] count = {0};
        for (int i = 0; i < 100_000; i++) {
            budget.acquire(
                    100,
                    () -> {
                        count[0]++;
                        budget.release(100);
                    });
        }
        budget.release(100);
        assertThat(count[0]).isEqualTo(100_000);
        assertThat(budget.usedBytes()).isZero();
    }
}
