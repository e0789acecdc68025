package io.cairn.client.inode;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RangeOrderTest {
    private final RangeOrder order = new RangeOrder((from, to) -> {});
    private final List<String> started = new ArrayList<>();

    private final class Op extends RangeOrder.Entry {
        private final String name;

        Op(String name, long from, long to, boolean change) {
            super(from, to, change);
            this.name = name;
        }

        @Override
        protected void start() {
            started.add(name);
        }

        @Override
        protected void waitingAt(long nowNanos) {
            started.add(name + " waits");
        }
    }

    private Op change(String name, long from, long to) {
        Op op = new Op(name, from, to, true);
        order.submit(op);
        return op;
    }

    private Op look(String name, long from, long to) {
        Op op = new Op(name, from, to, false);
        order.submit(op);
        return op;
    }

    @Test
    void overlappingChangesStartOneAfterTheOther() {
        Op a = change("a", 0, 10);
        Op b = change("b", 5, 15);
        Op c = change("c", 10, 20);
        assertThat(started).containsExactly("a");
        order.finish(a);
        assertThat(started).containsExactly("a", "b");
        order.finish(b);
        order.finish(c);
        assertThat(started).containsExactly("a", "b", "c");
        assertThat(order.idle()).isTrue();
    }

    @Test
    void aChangeThatBecomesNarrowerLetsGoWhatItNoLongerTouches() {
        Op earlier = change("earlier", 0, 4);
        Op whole = change("whole", 0, 100);
        look("read 0", 0, 10);
        Op inside = change("inside", 45, 55);
        look("read 50", 50, 60);
        change("behind", 60, 70);
        assertThat(started).containsExactly("earlier");
        order.finish(earlier);
        assertThat(started).containsExactly("earlier", "whole");
        order.narrow(whole, 40, 50);
        assertThat(started).containsExactly("earlier", "whole", "read 0", "behind");
        change("later, elsewhere", 0, 40);
        change("later, there", 49, 50);
        assertThat(started).endsWith("behind", "later, elsewhere");
        order.finish(whole);
        assertThat(started).endsWith("later, elsewhere", "inside");
        order.finish(inside);
        assertThat(started).endsWith("inside", "read 50", "later, there");
    }

    @Test
    void neighboursDoNotWait() {
        change("a", 0, 10);
        change("b", 10, 20);
        look("r", 20, 30);
        assertThat(started).containsExactly("a", "b", "r");
    }

    @Test
    void readsWaitForEarlierChangesOnlyAndHoldNobodyUp() {
        Op a = change("a", 0, 10);
        look("r", 9, 12);
        Op b = change("b", 9, 12);
        assertThat(started).containsExactly("a");
        order.finish(a);
        assertThat(started).containsExactly("a", "r", "b");
        look("s", 0, 9);
        assertThat(started).endsWith("s");
        order.finish(b);
    }

    @Test
    void aBarrierWaitsForAllBeforeIt() {
        Op a = change("a", 0, 10);
        Op b = change("b", 100, 110);
        look("barrier", 0, Long.MAX_VALUE);
        change("later", 50, 60);
        order.finish(b);
        assertThat(started).containsExactly("a", "b", "later");
        order.finish(a);
        assertThat(started).endsWith("barrier");
    }

    @Test
    void onlyWhatWaitsIsToldTheTime() {
        change("a", 0, 10);
        order.tick(0);
        change("b", 0, 10);
        order.tick(0);
        assertThat(started).containsExactly("a", "b waits");
    }

    @Test
    void aLongLineThatFailsAtOnceDoesNotDeepenTheStack() {
        Op first = change("first", 0, 1);
        int[] count = {0};
        for (int i = 0; i < 2_000; i++) {
            // A chain: each waits only for its neighbour, by lying half over it.
            order.submit(
                    new RangeOrder.Entry(i, i + 2, true) {
                        @Override
                        protected void start() {
                            count[0]++;
                            order.finish(this);
                        }
                    });
        }
        order.finish(first);
        assertThat(count[0]).isEqualTo(2_000);
        assertThat(order.idle()).isTrue();
    }
}
