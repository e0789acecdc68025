package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HandoffQueueTest {
    private static final class Item extends HandoffQueue.Node<Item> {
        final int producer;
        final int number;

        Item(int producer, int number) {
            this.producer = producer;
            this.number = number;
        }
    }

    @Test
    void firstInFirstOut() {
        var queue = new HandoffQueue<Item>();
        assertThat(queue.takeAll()).isNull();
        assertThat(queue.push(new Item(0, 0))).isTrue();
        assertThat(queue.push(new Item(0, 1))).isFalse();
        Item first = Objects.requireNonNull(queue.takeAll());
        assertThat(first.number).isZero();
        assertThat(HandoffQueue.unlink(first)).extracting(i -> i.number).isEqualTo(1);
        assertThat(queue.push(first)).isTrue();
    }

    /** Each producer's order is kept, nothing is lost, and every filling is announced once. */
    @Test
    void manyProducers() throws InterruptedException {
        int producers = 4;
        int each = 50_000;
        var queue = new HandoffQueue<Item>();
        var announced = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int p = 0; p < producers; p++) {
            int producer = p;
            threads.add(
                    Thread.ofPlatform()
                            .start(() -> {
                                for (int i = 0; i < each; i++) {
                                    if (queue.push(new Item(producer, i))) {
                                        announced.incrementAndGet();
                                    }
                                }
                            }));
        }
        int[] next = new int[producers];
        int taken = 0;
        int fillings = 0;
        while (taken < producers * each) {
            @Nullable Item item = queue.takeAll();
            fillings += item == null ? 0 : 1;
            while (item != null) {
                assertThat(item.number).isEqualTo(next[item.producer]++);
                taken++;
                item = HandoffQueue.unlink(item);
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(announced).hasValue(fillings);
    }
}
