package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Whoever asks is told, whatever the disk does; a disk that hangs keeps no other from answering.
 */
class BlockingCallsTest {
    @Test
    void aHangingDiskDelaysNoOther() throws Exception {
        CountDownLatch hang = new CountDownLatch(1);
        List<Throwable> refused = new CopyOnWriteArrayList<>();
        CompletableFuture<String> answer = new CompletableFuture<>();
        try (BlockingCalls slow = new BlockingCalls();
                BlockingCalls other = new BlockingCalls()) {
            try {
                for (int i = 0; i < 2000; i++) {
                    slow.call(() -> hang.await(60, TimeUnit.SECONDS), ended -> {}, refused::add);
                }
                other.call(() -> "here", answer::complete, answer::completeExceptionally);
                assertThat(answer.get(30, TimeUnit.SECONDS)).isEqualTo("here");
                assertThat(refused)
                        .as("what waits is bounded")
                        .isNotEmpty()
                        .allMatch(RejectedExecutionException.class::isInstance);
            } finally {
                hang.countDown();
            }
        }
    }

    @Test
    void whatIsThrownIsTold() throws Exception {
        for (Throwable thrown : List.of(new IllegalStateException("x"), new AssertionError("y"))) {
            CompletableFuture<Throwable> told = new CompletableFuture<>();
            try (BlockingCalls calls = new BlockingCalls()) {
                calls.call(
                        () -> {
                            if (thrown instanceof Error e) {
                                throw e;
                            }
                            throw (Exception) thrown;
                        },
                        value -> {},
                        told::complete);
                assertThat(told.get(30, TimeUnit.SECONDS)).isSameAs(thrown);
            }
        }
    }

    @Test
    void aClosedDiskAnswers() {
        BlockingCalls calls = new BlockingCalls();
        calls.close();
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        calls.call(() -> 1, value -> {}, told::complete);
        assertThat(told).isCompleted();
    }
}
