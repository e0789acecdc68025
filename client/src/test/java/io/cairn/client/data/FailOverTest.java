package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.FakePrimaries.Sent;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.rpc.Advice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Requests whose data server does not answer, and the maps that come meanwhile. Attempts have
 * minutes: what is sent again is so because of a map.
 */
class FailOverTest {
    private static final DataView VIEW = view(0);

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final BlockingQueue<Sent> sent = new LinkedBlockingQueue<>();
    private volatile Consumer<Sent> server = sent::add;
    private final FakePrimaries cluster = new FakePrimaries(request -> server.accept(request));
    private final AtomicInteger mapsAsked = new AtomicInteger();
    private DataClient client = client(TimeUnit.MINUTES.toNanos(10));
    private CompletableFuture<Void> refreshed = CompletableFuture.completedFuture(null);
    private volatile DataView view = VIEW;

    private final DataTarget target =
            new DataTarget() {
                @Override
                public long inode() {
                    return 7;
                }

                @Override
                public DataView view() {
                    return view;
                }

                @Override
                public CompletableFuture<Void> refresh() {
                    return refreshed;
                }
            };

    static DataView view(long truncateSequence) {
        return DataView.of(
                Attr.newBuilder()
                        .setInode(7)
                        .setTruncateSequence(truncateSequence)
                        .setLayout(
                                FileLayout.newBuilder()
                                        .setPool(FakePrimaries.POOL)
                                        .setStripeUnit(1 << 16)
                                        .setStripeCount(1)
                                        .setChunkSize(1 << 16))
                        .build());
    }

    private DataClient client(long attemptNanos) {
        return new DataClient(
                cluster.map(),
                cluster.channels(),
                timer,
                new ClientMeters(Meters.unpublished()),
                new DataClient.Limits(attemptNanos, 1 << 20, 1 << 20),
                (session, detail) -> {},
                mapsAsked::incrementAndGet);
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(1));
    }

    /** A call and what became of it. */
    private final class Call {
        final ByteBuf data = Unpooled.directBuffer(4).writeInt(1);
        final AtomicInteger outcomes = new AtomicInteger();
        volatile boolean over;
        volatile @Nullable FsException failure;
        volatile byte[] read = {};
        volatile long truncateSequence = -1;

        private void done(@Nullable FsException why, ByteBuf got, long sequence) {
            failure = why;
            read = new byte[got.readableBytes()];
            got.getBytes(got.readerIndex(), read);
            truncateSequence = sequence;
            outcomes.incrementAndGet();
            over = true;
        }

        Call write() {
            client.write(client.session(), target, 0, 0, data, deadline(), this::done);
            return this;
        }

        Call read() {
            data.release();
            client.read(client.session(), target, 0, 0, 4, deadline(), this::done);
            return this;
        }

        void succeeded() {
            if (!over) { // waiting takes its time also for what is true
                await().until(() -> over);
            }
            assertThat(failure).isNull();
            nothingIsLeft();
        }

        void nothingIsLeft() {
            assertThat(outcomes.get()).isEqualTo(1);
            assertThat(data.refCnt()).isZero();
            assertThat(client.inFlightBytes()).isZero();
            assertThat(client.queued()).isZero();
        }
    }

    private static long deadline() {
        return System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    }

    private Sent next() throws InterruptedException {
        Sent next = sent.poll(1, TimeUnit.MINUTES);
        if (next == null) {
            throw new AssertionError("nothing was sent");
        }
        return next;
    }

    /** The map names another primary for the PG of the request. */
    private void move(Sent request, int server) {
        cluster.primary(request.op().pg(), server);
        cluster.push();
    }

    @BeforeEach
    void open() {
        client.opened(5);
    }

    @AfterEach
    void close() {
        timer.shutdownNow();
    }

    @Test
    void aWriteGoesToTheNewPrimaryAsSoonAsTheMapNamesItUnderItsNumber() throws Exception {
        Call call = new Call().write();
        Sent old = next();
        move(old, 2);
        Sent again = next();
        assertThat(old.server()).isEqualTo(1);
        assertThat(again.server()).isEqualTo(2);
        assertThat(again.op().number()).isEqualTo(old.op().number());
        assertThat(again.op().mapEpoch()).isEqualTo(old.op().mapEpoch() + 1);
        again.answer();
        call.succeeded();
        old.answer();
        call.nothingIsLeft();
        assertThat(sent).isEmpty();
    }

    @Test
    void aReadTooAndTheOldPrimarysDataAreNotTaken() throws Exception {
        Call call = new Call().read();
        Sent old = next();
        move(old, 3);
        Sent again = next();
        old.answer();
        assertThat(call.over).isFalse();
        again.answer();
        call.succeeded();
        assertThat(call.read).containsOnly(3);
    }

    @Test
    void whateverTheOldPrimarySaysLateChangesNothing() throws Exception {
        for (Advice advice : Advice.values()) {
            cluster.allPrimaries(1);
            cluster.push();
            Call call = new Call().write();
            Sent old = next();
            move(old, 2);
            Sent again = next();
            old.refuse(advice);
            assertThat(call.over).isFalse();
            assertThat(client.queued()).isZero();
            again.answer();
            call.succeeded();
            assertThat(sent).isEmpty();
        }
        assertThat(mapsAsked.get()).isZero();
        assertThat(client.session().isEnding()).isFalse();
    }

    @Test
    void aMapThatLeavesThePrimaryAloneSendsNothing() throws Exception {
        Call call = new Call().write();
        Sent first = next();
        cluster.allPrimaries(2);
        cluster.primary(first.op().pg(), 1);
        cluster.backup(first.op().pg(), 3);
        cluster.restart(2);
        cluster.restart(3);
        cluster.push();
        cluster.down(1, true); // there is nobody else
        cluster.push();
        cluster.primary(first.op().pg(), 0);
        cluster.push();
        assertThat(sent).isEmpty();
        first.answer();
        call.succeeded();
    }

    @Test
    void aNewIncarnationAtTheSameAddressIsAsked() throws Exception {
        Call call = new Call().write();
        Sent lost = next();
        cluster.restart(1);
        cluster.push();
        Sent again = next();
        assertThat(again.server()).isEqualTo(1);
        assertThat(again.op().number()).isEqualTo(lost.op().number());
        again.answer();
        call.succeeded();
    }

    @Test
    void whatWasRefusedMeanwhileIsSentOnce() throws Exception {
        Call call = new Call().write();
        Sent old = next();
        old.refuse(Advice.REFRESH_MAP);
        assertThat(mapsAsked.get()).isEqualTo(1);
        move(old, 2);
        // The pause after a refusal may have been over before the map came.
        Sent again = next();
        if (again.server() == 1) {
            again = next();
        }
        assertThat(again.server()).isEqualTo(2);
        again.answer();
        call.succeeded();
        assertThat(sent).isEmpty();
    }

    @Test
    void aMapThatComesWhileTheRequestIsOnItsWayIsNotMissed() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        server =
                request -> {
                    sent.add(request);
                    if (calls.incrementAndGet() == 1) {
                        move(request, 2);
                    }
                };
        Call call = new Call().write();
        assertThat(next().server()).isEqualTo(1);
        Sent again = next();
        assertThat(again.server()).isEqualTo(2);
        again.answer();
        call.succeeded();
        assertThat(sent).isEmpty();
    }

    /** It has read the old map then, and is not yet among those in flight. */
    @Test
    void norOneThatComesJustBefore() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        client =
                new DataClient(
                        cluster.map(),
                        address -> {
                            if (calls.incrementAndGet() == 1) {
                                cluster.allPrimaries(2);
                                cluster.push();
                            }
                            return cluster.channels().channel(address);
                        },
                        timer,
                        new ClientMeters(Meters.unpublished()),
                        new DataClient.Limits(TimeUnit.MINUTES.toNanos(10), 1 << 20, 1 << 20),
                        (session, detail) -> {},
                        mapsAsked::incrementAndGet);
        client.opened(5);
        Call call = new Call().write();
        assertThat(next().server()).isEqualTo(1);
        Sent again = next();
        assertThat(again.server()).isEqualTo(2);
        again.answer();
        call.succeeded();
    }

    @Test
    void aSendThatFailsAfterItWasAbandonedIsNobodysBusiness() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        server =
                request -> {
                    if (calls.incrementAndGet() == 1) {
                        move(request, 2);
                        throw new OutOfMemoryError("test");
                    }
                    sent.add(request);
                };
        Call call = new Call().write();
        Sent again = next();
        assertThat(again.server()).isEqualTo(2);
        again.answer();
        call.succeeded();
        assertThat(calls.get()).isEqualTo(2);
    }

    @Test
    void withoutMemoryToSendItAgainItIsSentLater() throws Exception {
        Call call = new Call().write();
        Sent old = next();
        AtomicInteger calls = new AtomicInteger();
        server =
                request -> {
                    if (calls.incrementAndGet() <= 2) {
                        throw new OutOfMemoryError("test");
                    }
                    sent.add(request);
                };
        move(old, 2);
        old.answer();
        next().answer();
        call.succeeded();
    }

    @Test
    void oneWhoseSessionHasEndedIsNotSentAgain() throws Exception {
        Call call = new Call().write();
        Sent old = next();
        FsException reason = new FsException(Errno.EIO, "session 5 has ended");
        client.end(reason);
        assertThat(call.over).isFalse();
        move(old, 2);
        await().until(() -> call.over);
        assertThat(call.failure).isSameAs(reason);
        old.answer();
        call.nothingIsLeft();
        assertThat(sent).isEmpty();
    }

    /** While the attributes are fetched it is nowhere in flight. */
    @Test
    void aMapBetweenTwoNumbersIsTheNewNumbersMap() throws Exception {
        refreshed = new CompletableFuture<>();
        Call call = new Call().write();
        Sent old = next();
        move(old, 2);
        Sent refused = next();
        refused.refuse(Advice.REFRESH_INODE);
        move(old, 3);
        assertThat(sent).isEmpty();
        view = view(9);
        refreshed.complete(null);
        Sent renewed = next();
        assertThat(renewed.server()).isEqualTo(3);
        assertThat(renewed.op().number()).isGreaterThan(refused.op().number());
        assertThat(renewed.op().ackedBelow()).isGreaterThan(refused.op().number());
        assertThat(renewed.op().truncateSequence()).isEqualTo(9);
        old.refuse(Advice.REFRESH_INODE);
        renewed.answer();
        call.succeeded();
        assertThat(call.truncateSequence).isEqualTo(9);
        assertThat(sent).isEmpty();
    }

    @Test
    void oneOfManyCallsIsFoundAgain() throws Exception {
        int count = 1000;
        Call[] calls = new Call[count];
        for (int i = 0; i < count; i++) {
            calls[i] = new Call().write();
        }
        await().until(() -> sent.size() == count);
        // Out of order, so that the list of those in flight loses some at each place.
        Sent[] all = sent.toArray(Sent[]::new);
        sent.clear();
        for (int i = 0; i < count; i += 1 + i % 3) {
            all[i].answer();
        }
        int left = (int) Arrays.stream(calls).filter(call -> !call.over).count();
        move(all[0], 2);
        assertThat(sent).hasSize(left).allMatch(request -> request.server() == 2);
        sent.forEach(Sent::answer);
        Arrays.stream(calls).forEach(Call::succeeded);
    }

    @Test
    void silenceHasTheMapAskedForAgainAndAgain() throws Exception {
        client = client(TimeUnit.MILLISECONDS.toNanos(200));
        client.opened(5);
        Call call = new Call().write();
        Sent silent = next();
        await().until(() -> mapsAsked.get() >= 3);
        silent.answer();
        call.succeeded();
    }

    @Test
    void aLostConnectionTooAndManyAskOnce() throws Exception {
        Call[] calls = new Call[100];
        for (int i = 0; i < calls.length; i++) {
            calls[i] = new Call().write();
        }
        for (Call _ : calls) {
            next().lose();
        }
        assertThat(mapsAsked.get()).isEqualTo(1);
        for (Call _ : calls) {
            next().answer();
        }
        await().until(() -> Arrays.stream(calls).allMatch(call -> call.over));
        Arrays.stream(calls).forEach(Call::succeeded);
        assertThat(mapsAsked.get()).isEqualTo(1);
    }
}
