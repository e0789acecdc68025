package io.cairn.system.support;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/**
 * A client whose writes come when the files are gone, or of a metadata service that is: it sends
 * them to the primaries without asking whose they are. One thread.
 */
public final class LateWriter implements AutoCloseable {
    /** Never given out by a metadata service of a test. */
    private static final long SESSION = 1L << 40;

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final RpcLoops loops = new RpcLoops(1, "late-writer");
    private final InetSocketAddress mds;
    private final RpcClient admin;
    private final RpcClient client;
    private long number;

    public LateWriter(Cluster cluster) {
        mds = RpcAddress.parse(cluster.mds());
        admin = client(Hello.newBuilder().setRole(Role.ROLE_ADMIN));
        client =
                client(
                        Hello.newBuilder()
                                .setRole(Role.ROLE_CLIENT)
                                .setClusterId(map().clusterId()));
    }

    private RpcClient client(Hello.Builder hello) {
        return new RpcClient(loops, hello::build, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
    }

    private ClusterMap map() {
        CompletableFuture<StatusReply> status = new CompletableFuture<>();
        admin.channel(mds)
                .call(
                        Method.STATUS_VALUE,
                        StatusRequest.getDefaultInstance(),
                        System.nanoTime() + PATIENCE_NANOS,
                        Heads.reply(
                                StatusReply.parser(),
                                (failure, reply) -> {
                                    if (reply == null) {
                                        status.completeExceptionally(failure.toException());
                                    } else {
                                        status.complete(reply);
                                    }
                                }));
        return ClusterMap.of(status.join().getMap());
    }

    /** Writes the beginning of a chunk; returns when all replicas have it. */
    public void write(String pool, long inode, int chunk, byte[] data) {
        Awaitility.await("a write to inode " + inode)
                .atMost(Duration.ofMinutes(1))
                .pollDelay(Duration.ZERO)
                .until(() -> attempt(pool, inode, chunk, data), RpcStatus::ok);
    }

    private RpcStatus attempt(String poolName, long inode, int chunk, byte[] data)
            throws Exception {
        ClusterMap map = map();
        Pool pool = Objects.requireNonNull(map.pool(poolName));
        int pg = PgHash.pg(pool.getId(), inode, chunk, pool.getPgCount());
        DataOp op =
                DataOp.write(
                        pg,
                        new DataOp.Range(inode, chunk, 0, data.length),
                        new DataOp.Caller(SESSION, ++number, 0),
                        DataOp.Known.map(map.epoch()),
                        BlockCrc.compute(Unpooled.wrappedBuffer(data), 0));
        ByteBuf head = Unpooled.buffer(DataOpFormat.encodedLength(op));
        DataOpFormat.encode(op, head);
        CompletableFuture<RpcStatus> done = new CompletableFuture<>();
        client.channel(Objects.requireNonNull(map.primaryAddress(pg)))
                .call(
                        Method.DATA_WRITE_VALUE,
                        head,
                        Unpooled.copiedBuffer(data),
                        System.nanoTime() + PATIENCE_NANOS,
                        (status, reply, payload) -> done.complete(status));
        RpcStatus status = done.get();
        if (!status.ok() && status.advice() == Advice.GIVE_UP) {
            throw new AssertionError(status.toString());
        }
        return status;
    }

    @Override
    public void close() {
        client.close();
        admin.close();
        loops.close();
    }
}
