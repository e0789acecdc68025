package io.cairn.dataserver.scrub;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.DeviceClass;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.ScrubStore;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class ChunkChecksTest {
    private final CountDownLatch reads = new CountDownLatch(1);
    private final CountDownLatch hasRead = new CountDownLatch(1);
    private final AtomicBoolean interrupted = new AtomicBoolean();

    /** Its read takes until {@link #hasRead}, and is followed by another one. */
    private Object check(ScrubStore.Pace pace) throws InterruptedException {
        reads.countDown();
        try {
            hasRead.await();
        } catch (InterruptedException e) {
            interrupted.set(true);
        }
        pace.before(1);
        throw new AssertionError("it read on");
    }

    private DiskStore store() {
        return (DiskStore)
                Proxy.newProxyInstance(
                        DiskStore.class.getClassLoader(),
                        new Class<?>[] {DiskStore.class},
                        (proxy, method, args) ->
                                switch (method.getName()) {
                                    case "check" -> check((ScrubStore.Pace) args[2]);
                                    case "walFillRatio" -> 0.0;
                                    default ->
                                            method.isDefault()
                                                    ? InvocationHandler.invokeDefault(
                                                            proxy, method, args)
                                                    : null;
                                });
    }

    /** Java closes the channel of an interrupted read, which others of the disk use too. */
    @Test
    void closingEndsWhatIsBeingReadWithoutAnInterrupt() throws Exception {
        ChunkChecks checks =
                new ChunkChecks(
                        new LocalDisk(store(), DeviceClass.DEVICE_CLASS_UNKNOWN, (_, _) -> {}),
                        1 << 20);
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        checks.check(1, new Key(1, 0), _ -> {}, ended::complete);
        reads.await();
        Thread closing = Thread.ofPlatform().start(checks::close);
        Awaitility.await()
                .atMost(Duration.ofSeconds(20))
                .until(() ->
                        closing.getState() == Thread.State.TIMED_WAITING || !closing.isAlive());
        hasRead.countDown();
        closing.join();
        assertThat(ended.join()).isInstanceOf(InterruptedException.class);
        assertThat(interrupted).isFalse();
    }
}
