package io.cairn.fuse.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RequestBuffersTest {
    @Test
    void writesBeyondTwiceTheLimitWaitUntilOneIsOver() {
        RequestBuffers buffers = new RequestBuffers(1 << 20, 64 << 10);
        int first = buffers.started(64 << 10);
        assertThat(first).isPositive();
        int overdraft = buffers.started(64 << 10); // after the soft limit's wait
        assertThat(overdraft).isNegative();

        CompletableFuture<Integer> third = new CompletableFuture<>();
        AtomicReference<Thread> reader = new AtomicReference<>();
        reader.set(Thread.ofPlatform().start(() -> third.complete(buffers.started(4096))));
        // WAITING, not TIMED_WAITING: the soft limit is behind it.
        await().until(() -> reader.get().getState() == Thread.State.WAITING);
        assertThat(third).isNotDone();
        buffers.finished(overdraft);
        assertThat(third.join()).isNegative();

        buffers.finished(third.join());
        buffers.finished(first);
        assertThat(buffers.started(64 << 10)).isEqualTo(first);
    }

    @Test
    void aLargeWriteCountsAsTheBufferItKeeps() {
        RequestBuffers buffers = new RequestBuffers(1 << 20, 4 << 20);
        assertThat(buffers.started(700 << 10)).isEqualTo(buffers.requestBytes() / 4096);
        assertThat(buffers.started(128 << 10)).isEqualTo(32);
        assertThat(buffers.copyBelowBytes()).isBetween(128 << 10, 700 << 10);
    }

    @Test
    void anInterruptedReaderDoesNotWait() {
        RequestBuffers buffers = new RequestBuffers(1 << 20, 4096);
        assertThat(buffers.started(4096)).isPositive();
        Thread.currentThread().interrupt();
        assertThat(buffers.started(4096)).isZero();
        assertThat(Thread.interrupted()).isTrue();
        buffers.finished(0);
    }
}
