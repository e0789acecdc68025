package io.cairn.client.meta;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that knows the ids of what it makes before the metadata service has answered. */
class MadeIdsTest implements MetaEvents {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    @SuppressWarnings("NullAway.Init")
    private FakeCluster cluster;

    @SuppressWarnings("NullAway.Init")
    private RpcLoops loops;

    @SuppressWarnings("NullAway.Init")
    private RpcClient rpc;

    @SuppressWarnings("NullAway.Init")
    private ScheduledExecutorService timer;

    @SuppressWarnings("NullAway.Init")
    private MetaClient meta;

    private volatile long session;
    private int names;

    @BeforeEach
    void open() throws IOException {
        cluster = new FakeCluster();
        loops = new RpcLoops(1, "made-ids", Meters.unpublished());
        rpc =
                new RpcClient(
                        loops,
                        () ->
                                Hello.newBuilder()
                                        .setClusterId(cluster.id())
                                        .setRole(Role.ROLE_CLIENT)
                                        .build(),
                        HelloPolicy.ACCEPT,
                        RpcOptions.DEFAULT);
        timer = Executors.newSingleThreadScheduledExecutor();
        meta =
                new MetaClient(
                        new MetaOptions(
                                cluster.config().mds().stream().map(RpcAddress::of).toList(),
                                "made ids",
                                TimeUnit.SECONDS.toNanos(5),
                                4),
                        rpc::channel,
                        timer,
                        () -> 0,
                        this);
        meta.open().join();
    }

    @AfterEach
    void close() {
        meta.close().join();
        timer.shutdownNow();
        rpc.close();
        loops.close();
        cluster.close();
    }

    @Override
    public void sessionOpened(long opened, @Nullable MapUpdate map, int featureLevel) {
        session = opened;
    }

    @Override
    public void sessionEnded(long session, FsException reason) {}

    @Override
    public void mutated(Mutation mutation, MutationResult result) {}

    @Override
    public void retried() {}

    private PendingMutation make() {
        Mutation mkdir =
                NewMutation.stamped()
                        .setMkdir(
                                MkdirOp.newBuilder()
                                        .setParent(1)
                                        .setName(ByteString.copyFromUtf8("d" + names++))
                                        .setMode(0755))
                        .build();
        @Nullable PendingMutation own = meta.make(mkdir, session, meta.delegationRound());
        return own == null ? meta.mutate(mkdir, System.nanoTime() + PATIENCE_NANOS) : own;
    }

    private static long inode(PendingMutation made) {
        return made.reply().join().getAttr().getInode();
    }

    /** Makes until one has an id of the session's. */
    private PendingMutation awaitOwn() {
        while (true) {
            PendingMutation made = make();
            inode(made);
            if (made.ownInode() != 0) {
                return made;
            }
        }
    }

    @Test
    void idsAreKnownBeforeTheAnswer() {
        PendingMutation first = make();
        assertThat(first.ownInode()).as("none is at hand yet").isZero();
        assertThat(inode(first)).isPositive();
        awaitOwn();
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        List<PendingMutation> made = IntStream.range(0, 20).mapToObj(_ -> make()).toList();
        assertThat(made).allMatch(m -> m.ownInode() != 0).noneMatch(m -> m.reply().isDone());
        await().until(() -> cluster.mds(0).held() > 0);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        made.forEach(m -> assertThat(inode(m)).isEqualTo(m.ownInode()));
    }

    @Test
    void manyThreadsUseManyRangesAndNoIdTwice() {
        awaitOwn();
        List<PendingMutation> made = new ArrayList<>();
        List<Thread> threads =
                IntStream.range(0, 4)
                        .mapToObj(_ ->
                                Thread.ofVirtual()
                                        .start(() -> {
                                            for (int i = 0; i < 1000; i++) {
                                                PendingMutation m;
                                                synchronized (made) {
                                                    m = make();
                                                    made.add(m);
                                                }
                                                inode(m);
                                            }
                                        }))
                        .toList();
        threads.forEach(MadeIdsTest::join);
        assertThat(made).extracting(MadeIdsTest::inode).doesNotHaveDuplicates().hasSize(4000);
        assertThat(made)
                .filteredOn(m -> m.ownInode() != 0)
                .allMatch(m -> inode(m) == m.ownInode())
                .as("asked early enough, mostly")
                .hasSizeGreaterThan(2000);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void theNextSessionHasIdsOfItsOwn() {
        long before = awaitOwn().ownInode();
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        PendingMutation lost = make();
        assertThat(lost.ownInode()).isPositive();
        await().until(() -> cluster.mds(0).held() > 0);
        cluster.evictAll();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        assertThatThrownBy(() -> lost.reply().join())
                .as("it meant that session")
                .hasCauseInstanceOf(FsException.class);
        PendingMutation own = awaitOwn();
        assertThat(own.session()).isNotZero();
        assertThat(own.ownInode()).as("of a range of its own").isGreaterThan(before + 60);
    }

    @Test
    void withoutRangesTheLeaderChooses() {
        cluster.names().ranges(false);
        for (int i = 0; i < 10; i++) {
            PendingMutation made = make();
            assertThat(made.ownInode()).isZero();
            assertThat(inode(made)).isPositive();
        }
        assertThat(cluster.names().executed()).filteredOn(e -> e.contains("ACQUIRE")).hasSize(1);
    }
}
