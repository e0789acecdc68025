package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ListingThreadsTest {
    private final CompletableFuture<String> failure = new CompletableFuture<>();

    @Test
    void aLongListingDelaysNobody() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        CompletableFuture<String> other = new CompletableFuture<>();
        try (ListingThreads threads = threads(2)) {
            threads.execute(() -> awaited(goOn));
            threads.execute(() -> other.complete(Thread.currentThread().getName()));
            assertThat(other.get(30, TimeUnit.SECONDS)).startsWith("listings-");
            goOn.countDown();
        }
    }

    @Test
    void whatIsHandedOverAfterTheEndIsDropped() {
        ListingThreads threads = threads(1);
        threads.close();
        List<String> ran = new ArrayList<>();
        threads.execute(() -> ran.add("late"));
        assertThat(ran).isEmpty();
    }

    @Test
    void anErrorEndsTheProcess() throws Exception {
        try (ListingThreads threads = threads(1)) {
            threads.execute(() -> {
                throw new AssertionError("broken");
            });
            assertThat(failure.get(30, TimeUnit.SECONDS)).contains("listings-0");
        }
    }

    private ListingThreads threads(int count) {
        return new ListingThreads("listings", count, (reason, cause) -> failure.complete(reason));
    }

    private static void awaited(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
