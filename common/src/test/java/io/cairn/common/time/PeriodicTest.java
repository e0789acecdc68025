package io.cairn.common.time;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PeriodicTest {
    @Test
    void aTaskThatThrowsRunsAgainUntilItIsCancelled() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch enough = new CountDownLatch(5);
        try (ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor()) {
            ScheduledFuture<?> task =
                    Periodic.every(
                            executor,
                            TimeUnit.MILLISECONDS.toNanos(1),
                            "A test",
                            () -> {
                                enough.countDown();
                                switch (runs.incrementAndGet()) {
                                    case 1 -> throw new IllegalStateException("the first");
                                    case 2 -> throw new AssertionError("the second");
                                    default -> {}
                                }
                            });
            assertThat(enough.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(task.cancel(false)).isTrue();
        }
        assertThat(runs.get()).isGreaterThanOrEqualTo(5);
    }
}
