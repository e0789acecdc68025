package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.metrics.Meters;
import io.cairn.mds.metrics.MdsMeters;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ControlTest {
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();
    private final Control control =
            new Control(
                    "control-test",
                    (reason, cause) -> failure.complete(cause),
                    new MdsMeters(Meters.unpublished()));

    @AfterEach
    void close() {
        control.close();
    }

    @Test
    void anErrorOfATaskEndsTheProcess() throws Exception {
        Error thrown = new StackOverflowError();
        control.execute(() -> {
            throw thrown;
        });
        assertThat(failure.get(10, TimeUnit.SECONDS)).isSameAs(thrown);
    }

    @Test
    void anErrorOfAPeriodicTaskEndsTheProcess() throws Exception {
        Error thrown = new AssertionError();
        var _ =
                control.every(
                        1_000_000,
                        () -> {
                            throw thrown;
                        });
        assertThat(failure.get(10, TimeUnit.SECONDS)).isSameAs(thrown);
    }

    @Test
    void anExceptionIsCountedAndAPeriodicTaskRunsAgain() throws Exception {
        CountDownLatch runs = new CountDownLatch(3);
        var _ =
                control.every(
                        1_000_000,
                        () -> {
                            runs.countDown();
                            throw new IllegalStateException("a fault");
                        });
        assertThat(runs.await(10, TimeUnit.SECONDS)).isTrue();
        await().until(() -> control.failedTasks() >= 3);
        assertThat(failure).isNotDone();
    }
}
