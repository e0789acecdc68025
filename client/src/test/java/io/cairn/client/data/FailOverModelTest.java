package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.FakePrimaries.Sent;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Many calls from several threads, while the primaries change, restart, are silent, answer late,
 * execute late or refuse, while PGs split and merge, and while the file is truncated. No attempt
 * ends by itself: only a map helps the call of one that is not answered.
 */
class FailOverModelTest {
    private static final int CALLERS = 3;
    private static final int CALLS = 1500;
    private static final int CHUNKS = 32;

    private final Random random = TestSeed.random("FailOverModelTest");
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final ExecutorService callers = Executors.newFixedThreadPool(CALLERS + 1);
    private final ExecutorService loops = Executors.newFixedThreadPool(3);
    private final FakePrimaries cluster =
            new FakePrimaries(request -> loops.execute(() -> received(request)));
    private final DataClient client =
            new DataClient(
                    cluster.map(),
                    cluster.channels(),
                    timer,
                    new ClientMeters(Meters.unpublished()),
                    new DataClient.Limits(TimeUnit.HOURS.toNanos(1), 1 << 10, 1 << 20),
                    (session, detail) -> {},
                    () -> loops.execute(this::pushIfChanged));
    private final List<Call> calls = new ArrayList<>();
    private volatile boolean calm;
    private volatile boolean changed;

    // ---- the data servers, as one history; guarded by this

    private final Map<Integer, Pg> pgs = new HashMap<>();
    private final Map<Integer, Long> truncations = new HashMap<>();

    /** By what a write contains, the truncation sequence of each execution. */
    private final Map<Integer, List<Long>> executions = new ConcurrentHashMap<>();

    /** Requests that were executed or not, and are answered at some time. */
    private final List<Sent> silent = new ArrayList<>();

    private volatile long truncateSequence;

    private static final class Pg {
        final Map<Long, Long> executed = new HashMap<>();
        long ackedBelow;

        /** What {@code AnsweredTable} does when groups split or merge. */
        void takeOver(Pg from) {
            ackedBelow = Math.max(ackedBelow, from.ackedBelow);
            executed.putAll(from.executed);
            executed.keySet().removeIf(number -> number < ackedBelow);
        }
    }

    private synchronized int draw(int bound) {
        return random.nextInt(bound);
    }

    private synchronized void received(Sent request) {
        int fate = calm ? 0 : random.nextInt(100);
        if (fate < 40) {
            serve(request);
        } else if (fate < 55) {
            execute(request.op(), request.content(), request.server());
            silent.add(request); // its answer is what serving it again gives
        } else if (fate < 75) {
            silent.add(request);
        } else if (fate < 85) {
            request.refuse(Advice.RETRY);
        } else if (fate < 92) {
            request.refuse(Advice.REFRESH_MAP);
        } else {
            request.lose();
        }
    }

    private void serve(Sent request) {
        RpcStatus status = execute(request.op(), request.content(), request.server());
        if (status.ok()) {
            request.answer();
        } else {
            request.fail(status);
        }
    }

    /** What {@code Primary} and {@code SessionWindows} of a data server do. */
    private synchronized RpcStatus execute(DataOp op, int content, int server) {
        if (cluster.primaryOf(op.pg()) != server
                || cluster.pgOf(op.inode(), op.chunk()) != op.pg()) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "not the primary");
        }
        Pg pg = pg(op.pg());
        if (op.type() == DataOpType.WRITE) {
            if (op.number() < pg.ackedBelow) {
                return RpcStatus.fail(Errno.EINVAL, "already acknowledged");
            }
            if (pg.executed.containsKey(op.number())) {
                return RpcStatus.OK;
            }
            pg.ackedBelow = Math.max(pg.ackedBelow, op.ackedBelow());
            pg.executed.keySet().removeIf(number -> number < pg.ackedBelow);
        }
        if (op.truncateSequence() < truncations.getOrDefault(op.chunk(), 0L)) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_INODE, "truncated");
        }
        if (op.type() == DataOpType.WRITE) {
            truncations.put(op.chunk(), op.truncateSequence());
            pg.executed.put(op.number(), op.truncateSequence());
            executions.computeIfAbsent(content, _ -> new ArrayList<>()).add(op.truncateSequence());
        }
        return RpcStatus.OK;
    }

    private Pg pg(int pg) {
        return pgs.computeIfAbsent(pg, _ -> new Pg());
    }

    private void split() {
        if (cluster.pgs() < FakePrimaries.MAX_PGS) {
            int child = PgHash.pg(FakePrimaries.POOL, cluster.pgs());
            Pg parent = pg(cluster.split());
            pg(child).takeOver(parent);
        }
    }

    /** A map that lacks the PG of an attempt names nobody else to ask. */
    private synchronized void splitAll() {
        while (cluster.pgs() < FakePrimaries.MAX_PGS) {
            split();
        }
    }

    private void merge() {
        if (cluster.pgs() > FakePrimaries.PGS) {
            Pg parent = pg(cluster.merge());
            Pg child = pgs.remove(PgHash.pg(FakePrimaries.POOL, cluster.pgs()));
            if (child != null) {
                parent.takeOver(child);
            }
        }
    }

    // ---- the clients

    private final class Call {
        final int content;
        final ByteBuf data = Unpooled.directBuffer(4);
        final boolean write;
        final AtomicInteger outcomes = new AtomicInteger();
        volatile @Nullable FsException failure;
        volatile long knew;

        Call(int content, boolean write) {
            this.content = content;
            this.write = write;
            data.writeInt(content);
        }

        void start() {
            int chunk = content % CHUNKS;
            int offset = content / CHUNKS * 4;
            long deadline = System.nanoTime() + TimeUnit.HOURS.toNanos(2);
            if (write) {
                client.write(client.session(), target, chunk, offset, data, deadline, this::done);
            } else {
                data.release();
                client.read(client.session(), target, chunk, offset, 4, deadline, this::done);
            }
        }

        private void done(@Nullable FsException why, ByteBuf got, long sequence) {
            failure = why;
            knew = sequence;
            outcomes.incrementAndGet();
        }

        void check() {
            assertThat(outcomes.get()).as("outcomes of " + content).isEqualTo(1);
            assertThat(failure).as("failure of " + content).isNull();
            assertThat(data.refCnt()).as("buffer of " + content).isZero();
            if (write) {
                assertThat(executions.get(content))
                        .as("executions of " + content)
                        .containsExactly(knew);
            }
        }
    }

    private final DataTarget target =
            new DataTarget() {
                @Override
                public long inode() {
                    return 7;
                }

                @Override
                public DataView view() {
                    return known;
                }

                @Override
                @SuppressWarnings("NullAway") // a future of Void
                public CompletableFuture<Void> refresh() {
                    return CompletableFuture.runAsync(
                            () -> known = FailOverTest.view(truncateSequence), loops);
                }
            };

    private volatile DataView known = FailOverTest.view(0);

    private void call(int first) {
        for (int i = first; i < CALLS; i += CALLERS) {
            calls.get(i).start();
        }
    }

    // ---- what happens meanwhile

    /** The servers take it at once, the client with the next push. */
    private synchronized void change() {
        switch (random.nextInt(14)) {
            case 0, 1, 2, 3 ->
                    cluster.primary(
                            random.nextInt(cluster.pgs()),
                            1 + random.nextInt(FakePrimaries.SERVERS));
            case 4, 5 -> cluster.restart(1 + random.nextInt(FakePrimaries.SERVERS));
            case 6 -> cluster.down(1 + random.nextInt(FakePrimaries.SERVERS), random.nextBoolean());
            case 7 -> cluster.allPrimaries(1 + random.nextInt(FakePrimaries.SERVERS));
            case 8, 9 -> split();
            case 10, 11 -> merge();
            default -> {
                truncateSequence++;
                truncations.put(random.nextInt(CHUNKS), truncateSequence);
            }
        }
        changed = true;
    }

    private void pushIfChanged() {
        if (changed) {
            changed = false;
            cluster.push();
        }
    }

    private void serveOneThatWasSilent() {
        Sent late;
        synchronized (this) {
            if (silent.isEmpty()) {
                return;
            }
            late = silent.remove(random.nextInt(silent.size()));
        }
        loops.execute(() -> serve(late));
    }

    private void disturb() {
        while (over() < CALLS / 2) {
            change();
            if (draw(2) == 0) {
                pushIfChanged();
            }
            for (int i = draw(8); i > 0; i--) {
                serveOneThatWasSilent();
            }
            Thread.yield();
        }
    }

    private int over() {
        int over = 0;
        for (Call call : calls) {
            over += call.outcomes.get();
        }
        return over;
    }

    @AfterEach
    void close() {
        timer.shutdownNow();
        callers.shutdownNow();
        loops.shutdownNow();
    }

    @Test
    void everyCallIsOverOnceAndEveryWriteExecutedOnce() throws Exception {
        client.opened(5);
        for (int i = 0; i < CALLS; i++) {
            calls.add(new Call(i, random.nextInt(4) != 0));
        }
        List<Future<?>> all = new ArrayList<>();
        all.add(callers.submit(this::disturb));
        for (int i = 0; i < CALLERS; i++) {
            int first = i;
            all.add(callers.submit(() -> call(first)));
        }
        for (Future<?> future : all) {
            future.get();
        }
        // What was sent to the silent is sent again, because they are others now.
        calm = true;
        splitAll();
        for (int id = 1; id <= FakePrimaries.SERVERS; id++) {
            cluster.restart(id);
        }
        cluster.push();
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> over() >= CALLS);
        calls.forEach(Call::check);
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .until(() -> client.inFlightBytes() == 0 && client.queued() == 0);
        // What arrives or is answered now comes too late for anything.
        while (!silent.isEmpty()) {
            serveOneThatWasSilent();
        }
        loops.shutdown();
        assertThat(loops.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
        calls.forEach(Call::check);
        assertThat(client.inFlightBytes()).isZero();
        assertThat(client.queued()).isZero();
    }
}
