package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.client.base.ClientMeters;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcCallback;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One data server that answers as told. */
class DataClientTest {
    private static final FileLayout LAYOUT =
            FileLayout.newBuilder()
                    .setPool(1)
                    .setStripeUnit(1 << 16)
                    .setStripeCount(1)
                    .setChunkSize(1 << 16)
                    .build();
    private static final DataView VIEW =
            DataView.of(Attr.newBuilder().setInode(7).setLayout(LAYOUT).build());

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
    private final AtomicInteger sent = new AtomicInteger();
    private final List<Long> fenced = new ArrayList<>();
    private final DataClient client =
            new DataClient(
                    map(),
                    address -> new Scripted(),
                    timer,
                    new ClientMeters(Meters.unpublished()),
                    new DataClient.Limits(TimeUnit.SECONDS.toNanos(60), 1 << 20, 1 << 20),
                    (session, detail) -> {
                        synchronized (fenced) {
                            fenced.add(session);
                        }
                    },
                    () -> {});

    /** What happens to one attempt; afterwards all succeed. */
    private interface Answer {
        void to(RpcCallback callback);
    }

    private final class Scripted implements RpcChannel {
        @Override
        public void call(int method, MessageLite head, long deadline, RpcCallback callback) {
            throw new AssertionError("a control method");
        }

        @Override
        public void call(
                int method, ByteBuf head, ByteBuf payload, long deadline, RpcCallback callback) {
            head.release();
            payload.release();
            sent.incrementAndGet();
            Answer answer = answers.poll();
            if (answer == null) {
                callback.done(RpcStatus.OK, Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
            } else {
                answer.to(callback);
            }
        }

        @Override
        public void send(int method, MessageLite head) {}

        @Override
        public boolean connected() {
            return true;
        }
    }

    private static final class Target implements DataTarget {
        @Override
        public long inode() {
            return 7;
        }

        @Override
        public DataView view() {
            return VIEW;
        }

        @Override
        @SuppressWarnings("NullAway") // a future of Void
        public CompletableFuture<Void> refresh() {
            return CompletableFuture.completedFuture(null);
        }
    }

    private static MapHolder map() {
        MapHolder map = new MapHolder();
        ByteString uuid = ByteString.copyFrom(new byte[16]);
        boolean applied =
                map.apply(
                        MapUpdate.newBuilder()
                                .setClusterId(uuid)
                                .setEpoch(1)
                                .addPools(
                                        Pool.newBuilder()
                                                .setId(1)
                                                .setName("default")
                                                .setSize(1)
                                                .setMinSize(1)
                                                .setPgCount(1))
                                .addServers(
                                        Server.newBuilder()
                                                .setId(1)
                                                .setAddress("127.0.0.1:1")
                                                .setUuid(uuid)
                                                .setIncarnation(uuid)
                                                .setUp(true))
                                .addDisks(
                                        Disk.newBuilder()
                                                .setId(1)
                                                .setServer(1)
                                                .setUuid(uuid)
                                                .setCapacityBytes(1L << 30))
                                .addPgs(
                                        PlacementGroup.newBuilder()
                                                .setPg(1 << 16)
                                                .setEpoch(1)
                                                .addReplicas(1)
                                                .addInSync(1))
                                .build());
        assertThat(applied).isTrue();
        return map;
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(1));
    }

    private static Answer refuse(Advice advice) {
        return callback ->
                callback.done(
                        RpcStatus.fail(Errno.ESTALE, advice, "test"),
                        Unpooled.EMPTY_BUFFER,
                        Unpooled.EMPTY_BUFFER);
    }

    private CompletableFuture<@Nullable FsException> write() {
        CompletableFuture<@Nullable FsException> outcome = new CompletableFuture<>();
        client.write(
                client.session(),
                new Target(),
                0,
                0,
                Unpooled.directBuffer(4).writeInt(1),
                System.nanoTime() + TimeUnit.MINUTES.toNanos(10),
                (failure, data, sequence) -> outcome.complete(failure));
        return outcome;
    }

    @BeforeEach
    void open() {
        client.opened(5);
    }

    @AfterEach
    void close() {
        timer.shutdownNow();
    }

    /** Another thread was refused before, and is still about to end the session. */
    @Test
    void whatADataServerRefusesWaitsForTheEndOfTheSession() {
        for (int i = 0; i < 1000; i++) {
            answers.add(refuse(Advice.FENCED));
        }
        CompletableFuture<@Nullable FsException> outcome = write();
        await().until(() -> sent.get() > 1);
        assertThat(outcome).isNotDone();
        assertThat(client.session().isEnding()).isTrue();
        synchronized (fenced) {
            assertThat(fenced).isNotEmpty().containsOnly(5L);
        }
        FsException reason = new FsException(Errno.EIO, "session 5 has ended");
        client.end(reason);
        await().until(outcome::isDone);
        assertThat(outcome.join()).isSameAs(reason);
    }

    @Test
    void aRepetitionWithoutMemoryIsTriedAgain() {
        answers.add(refuse(Advice.RETRY));
        answers.add(callback -> {
            throw new OutOfMemoryError("direct");
        });
        CompletableFuture<@Nullable FsException> outcome = write();
        await().until(outcome::isDone);
        assertThat(outcome.join()).isNull();
        assertThat(sent.get()).isEqualTo(3);
    }

    @Test
    void oneThatWasRefusedForATruncationToo() {
        answers.add(refuse(Advice.REFRESH_INODE));
        answers.add(callback -> {
            throw new OutOfMemoryError("direct");
        });
        CompletableFuture<@Nullable FsException> outcome = write();
        await().until(outcome::isDone);
        assertThat(outcome.join()).isNull();
    }
}
