package io.cairn.mds.cluster;

import com.google.protobuf.MessageLite;
import io.cairn.common.layout.PgHash;
import io.cairn.common.layout.Striping;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.proto.Truncation;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcClient;
import io.cairn.mds.leader.Control;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the leader's own operations to the primaries of PGs, again and again with back-off until
 * they are done or nobody wants them any more. The control thread only.
 */
public final class PgCalls {
    private static final Logger LOG = LoggerFactory.getLogger(PgCalls.class);
    private static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static final BackOff AGAIN =
            new BackOff(Duration.ofMillis(50), Duration.ofSeconds(5), BackOff.anyThread());

    private final CurrentMap map;
    private final RpcClient client;
    private final Control control;

    public PgCalls(CurrentMap map, RpcClient client, Control control) {
        this.map = map;
        this.client = client;
        this.control = control;
    }

    /**
     * The PGs that may hold chunks of a file. Once all have done something, those that are among
     * them only then are to be asked too: they were made of some of the others, perhaps before
     * these did it.
     *
     * @param from byte offset: chunks of stripe sets before it are of no interest
     * @param ceiling no chunk lies at or beyond it
     */
    public IntStream pgs(long inode, FileLayout layout, long from, long ceiling) {
        return pgs(inode, layout, from, ceiling, pgCount(layout));
    }

    /** How many PGs the pool of the layout has; 0 if there is no such pool. */
    public int pgCount(FileLayout layout) {
        @Nullable Pool pool = map.get().pool(layout.getPool());
        return pool == null ? 0 : pool.getPgCount();
    }

    /**
     * When PGs of the pool were merged last. If that has changed since the PGs of a file were
     * taken, all of those that there are then are to be asked: what some did before is not known of
     * the chunks that came to them since.
     */
    public long mergedEpoch(FileLayout layout) {
        return mergedEpoch(layout.getPool());
    }

    /** The same of a pool by its id. */
    public long mergedEpoch(int id) {
        @Nullable Pool pool = map.get().pool(id);
        return pool == null ? 0 : pool.getMergedEpoch();
    }

    /** The same as of a moment when the pool had so many PGs. */
    public IntStream pgs(long inode, FileLayout layout, long from, long ceiling, int pgCount) {
        @Nullable Pool pool = map.get().pool(layout.getPool());
        if (pool == null || ceiling <= 0 || pgCount == 0) {
            return IntStream.empty();
        }
        int pgBase = ClusterMap.baseOf(pool);
        Striping striping = Striping.of(layout);
        // A cut may fall into any chunk of its stripe set.
        long firstSet = from / ((long) striping.stripeCount() * striping.chunkSize());
        long first = firstSet * striping.stripeCount();
        long end = striping.chunkCount(ceiling);
        if (end - first > pgCount) {
            return IntStream.range(0, pgCount).map(i -> PgHash.pg(pool.getId(), i));
        }
        return IntStream.range(0, (int) Math.max(0, end - first))
                .map(i -> PgHash.pg(pool.getId(), inode, first + i, pgBase, pgCount))
                .distinct();
    }

    /**
     * @param wanted asked before each attempt; the call is dropped once it says no
     * @param done gets the reply's head, on the control thread; nothing if the PG was merged into
     *     another one, see {@link #mergedEpoch}
     */
    public void call(
            int pg,
            Method method,
            MessageLite request,
            BooleanSupplier wanted,
            Consumer<byte[]> done) {
        attempt(pg, method, request, wanted, done, 1);
    }

    /**
     * Cuts what the PG has of a file; the data server catches up to the present map first.
     *
     * @param wanted as for {@link #call}
     * @param done on the control thread
     */
    public void truncate(
            int pg,
            long inode,
            FileLayout layout,
            Truncation cut,
            BooleanSupplier wanted,
            Runnable done) {
        TruncateInodeRequest request =
                TruncateInodeRequest.newBuilder()
                        .setPg(pg)
                        .setMapEpoch(map.get().epoch())
                        .setInode(inode)
                        .setSequence(cut.getSequence())
                        .setSize(cut.getSize())
                        .setStripeUnit(layout.getStripeUnit())
                        .setStripeCount(layout.getStripeCount())
                        .setChunkSize(layout.getChunkSize())
                        .build();
        call(pg, Method.TRUNCATE_INODE, request, wanted, reply -> done.run());
    }

    private void attempt(
            int pg,
            Method method,
            MessageLite request,
            BooleanSupplier wanted,
            Consumer<byte[]> done,
            int number) {
        if (!wanted.getAsBoolean()) {
            return;
        }
        ClusterMap present = map.get();
        if (present.isMerged(pg)) {
            control.execute(() -> done.accept(new byte[0]));
            return;
        }
        @Nullable InetSocketAddress primary = present.primaryAddress(pg);
        Consumer<String> failed =
                why -> {
                    LOG.debug("{} of PG {}: {}; again later", method, pg, why);
                    var _ =
                            control.after(
                                    AGAIN.delayNanos(number),
                                    () -> attempt(pg, method, request, wanted, done, number + 1));
                };
        if (primary == null || !primaryUp(present, pg)) {
            failed.accept("its primary is down or unknown");
            return;
        }
        client.channel(primary)
                .call(
                        method.getNumber(),
                        request,
                        System.nanoTime() + DEADLINE_NANOS,
                        (status, head, payload) -> {
                            byte[] reply = status.ok() ? bytes(head) : new byte[0];
                            control.execute(() -> {
                                if (status.ok()) {
                                    done.accept(reply);
                                } else {
                                    failed.accept(status.detail());
                                }
                            });
                        });
    }

    private static boolean primaryUp(ClusterMap map, int pg) {
        var group = map.pg(pg);
        var server = group == null ? null : map.serverOfDisk(ClusterMap.primaryOf(group));
        return server != null && server.getUp();
    }

    private static byte[] bytes(ByteBuf head) {
        byte[] bytes = new byte[head.readableBytes()];
        head.getBytes(head.readerIndex(), bytes);
        return bytes;
    }
}
