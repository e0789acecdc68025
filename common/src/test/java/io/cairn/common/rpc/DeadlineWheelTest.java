package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Hello;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The wheel with hand-made time, on its loop. */
class DeadlineWheelTest {
    private final RpcLoops loops = new RpcLoops(1, "test-wheel");
    private final EventLoop loop = loops.next();
    private final RpcClient client =
            new RpcClient(loops, Hello::getDefaultInstance, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
    private final ClientChannel channel =
            new ClientChannel(client, RpcAddress.parse("127.0.0.1:1"), loop);

    @AfterEach
    void close() {
        loops.close();
    }

    private PendingCall call(long deadlineNanos, List<Long> expired) {
        return new PendingCall(
                channel,
                1,
                System.nanoTime(),
                deadlineNanos,
                (status, head, payload) -> expired.add(deadlineNanos),
                Unpooled.EMPTY_BUFFER,
                Unpooled.EMPTY_BUFFER);
    }

    @Test
    void expiresEachOnceAfterItsDeadlineAndNotLong() throws Exception {
        onLoop(() -> {
            Random random = TestSeed.random("DeadlineWheelTest");
            long start = System.nanoTime() + Duration.ofHours(1).toNanos();
            var wheel = new DeadlineWheel(loop, start);
            List<Long> expired = new ArrayList<>();
            List<PendingCall> calls = new ArrayList<>();
            long now = start;
            int added = 0;
            int removed = 0;
            for (int step = 0; step < 2000; step++) {
                for (int i = random.nextInt(5); i > 0; i--) {
                    PendingCall call = call(now + random.nextLong(30_000_000_000L), expired);
                    calls.add(call);
                    wheel.add(call);
                    added++;
                }
                if (random.nextBoolean() && !calls.isEmpty()) {
                    PendingCall call = calls.remove(random.nextInt(calls.size()));
                    wheel.remove(call);
                    wheel.remove(call);
                    removed++;
                }
                now += random.nextLong(40_000_000);
                wheel.advance(now);
                long limit = now;
                assertThat(expired).allMatch(deadline -> deadline <= limit);
                calls.removeIf(c -> c.deadlineNanos <= limit && c.bucket < 0);
                assertThat(calls)
                        .allMatch(c -> c.deadlineNanos > limit - 2 * DeadlineWheel.TICK_NANOS);
            }
            wheel.advance(now + 31_000_000_000L);
            assertThat(wheel.size()).isZero();
            assertThat(expired.size() + removed).isEqualTo(added);
        });
    }

    @Test
    void longStandstillLosesNothing() throws Exception {
        onLoop(() -> {
            long start = System.nanoTime() + Duration.ofHours(1).toNanos();
            var wheel = new DeadlineWheel(loop, start);
            List<Long> expired = new ArrayList<>();
            for (int i = 0; i < 3000; i++) {
                wheel.add(call(start + i * 5_000_000L, expired));
            }
            wheel.advance(start + Duration.ofDays(1).toNanos());
            assertThat(expired).hasSize(3000);
            assertThat(wheel.size()).isZero();
        });
    }

    private void onLoop(Runnable test) throws InterruptedException, ExecutionException {
        loop.submit(test).get();
    }
}
