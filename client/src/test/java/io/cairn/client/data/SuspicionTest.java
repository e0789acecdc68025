package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SuspicionTest {
    private static final long START = -50; // as System.nanoTime may be

    private final AtomicInteger asked = new AtomicInteger();
    private final Suspicion suspicion = new Suspicion(100, asked::incrementAndGet, START);

    @Test
    void theMapIsAskedForAtOnceAndThenOncePerInterval() {
        suspicion.raise(START);
        assertThat(asked.get()).isEqualTo(1);
        for (long now = START; now - START < 100; now++) {
            suspicion.raise(now);
        }
        assertThat(asked.get()).isEqualTo(1);
        suspicion.raise(START + 100);
        suspicion.raise(START + 100);
        suspicion.raise(START + 199);
        assertThat(asked.get()).isEqualTo(2);
        suspicion.raise(START + 350);
        assertThat(asked.get()).isEqualTo(3);
    }
}
