package io.cairn.dataserver.pg;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PgReport;
import io.cairn.common.rpc.RpcLoop;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.dataserver.replication.PgState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * All loops of a server: which one owns a placement group, and how a map reaches them all. Any
 * thread.
 */
public final class PgLoops {
    private final List<PgLoop> loops = new ArrayList<>();
    private final Lease lease;

    public PgLoops(RpcLoops eventLoops, ServerParts parts) {
        lease = parts.lease();
        List<RpcLoop> owned = eventLoops.owned();
        for (int i = 0; i < owned.size(); i++) {
            int index = i;
            loops.add(new PgLoop(owned.get(i), parts, pg -> index(pg, owned.size()) == index));
        }
    }

    /** Begins to tick. */
    public void start() {
        loops.forEach(PgLoop::start);
    }

    /** The loop that owns the PG, whether the PG is known or not. */
    public PgLoop owner(int pg) {
        return loops.get(index(pg, loops.size()));
    }

    /** The PGs whose primary is at this server, and on which disk each is; asked of each loop. */
    public CompletableFuture<Map<Integer, LocalDisk>> primaries() {
        CompletableFuture<Map<Integer, LocalDisk>> all =
                CompletableFuture.completedFuture(Map.of());
        for (PgLoop loop : loops) {
            CompletableFuture<Map<Integer, LocalDisk>> some = new CompletableFuture<>();
            loop.execute(() -> some.complete(loop.primaries()));
            all = all.thenCombine(some, PgLoops::both);
        }
        return all;
    }

    private static <K, V> Map<K, V> both(Map<K, V> one, Map<K, V> other) {
        Map<K, V> both = new HashMap<>(one);
        both.putAll(other);
        return both;
    }

    private static int index(int pg, int loops) {
        return (pg & 0xFFFF) % loops;
    }

    /**
     * Hands a newer map to every loop, which applies it later.
     *
     * @param forgotten sessions of which nothing can be in flight any more
     */
    public void onMap(ClusterMap newer, List<Long> forgotten) {
        for (PgLoop loop : loops) {
            loop.execute(() -> {
                loop.onMap(newer, forgotten);
                lease.applied(confirmedEpoch());
            });
        }
    }

    /** There are more disks: groups that live on them by the map begin there. */
    public void placeAgain() {
        loops.forEach(loop -> loop.execute(loop::placeAgain));
    }

    /** The oldest of the map epochs that the loops confirm, see {@link EpochGate#confirmed}. */
    public long confirmedEpoch() {
        return loops.stream().mapToLong(PgLoop::confirmedEpoch).min().orElse(Long.MAX_VALUE);
    }

    /** Number of replicas in that state. */
    public int stateCount(PgState state) {
        return loops.stream().mapToInt(l -> l.stateCount(state)).sum();
    }

    /** The PGs whose primary is at this server; null until every loop has looked at its own. */
    public @Nullable PgReport report() {
        List<PgReport> all = new ArrayList<>();
        for (PgLoop loop : loops) {
            PgReport report = loop.report();
            if (report == null) {
                return null;
            }
            all.add(report);
        }
        return PgWatch.merge(all);
    }

    /**
     * The disk is out: each loop ends the replicas on it, soon; with the last one it is released.
     */
    public void diskOut(LocalDisk disk) {
        AtomicInteger left = new AtomicInteger(loops.size());
        for (PgLoop loop : loops) {
            loop.execute(() -> {
                loop.diskOut(disk);
                if (left.decrementAndGet() == 0) {
                    disk.release();
                }
            });
        }
    }

    /** Closes the replicas, each on its loop; false if a loop did not end in time. */
    public boolean close(long timeout, TimeUnit unit) throws InterruptedException {
        CountDownLatch ended = new CountDownLatch(loops.size());
        for (PgLoop loop : loops) {
            loop.execute(() -> {
                loop.close();
                ended.countDown();
            });
        }
        return ended.await(timeout, unit);
    }
}
