package io.cairn.client.data;

import io.cairn.client.base.Channels;
import io.cairn.client.base.ClientMeters;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Pool;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.time.Periodic;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends pieces of files to the primaries of their placement groups and repeats them until they are
 * answered or late, or their session has ended: at once when the map names another primary, which
 * is asked for when one is silent. Those for PGs that do not answer wait apart, see {@link
 * PgBudgets}. Any thread; outcomes are reported on event loops or on the timer, never on the thread
 * that asked before the method has returned, unless the request is refused at once.
 */
public final class DataClient {
    /** Receives the outcome of one piece, once; must not block. */
    @FunctionalInterface
    public interface Outcome {
        /**
         * @param failure null when it succeeded
         * @param data what was read, at most the length asked for, missing bytes are zeros; only
         *     valid during the call
         * @param truncateSequence newest truncation known to the request that was executed
         */
        void done(@Nullable FsException failure, ByteBuf data, long truncateSequence);

        /**
         * Whether nobody waits for it any more: then it is not sent if it was not yet, and {@link
         * #done} is told so. Any thread; once true it stays so.
         */
        default boolean unwanted() {
            return false;
        }
    }

    /**
     * The limits of a client's data path.
     *
     * @param attemptNanos how long one attempt may take; a PG that is silent for a tenth of it is
     *     taken for stuck, and a request that has no answer after a tenth of it has the newest map
     *     asked for
     * @param maxInFlightBytes of requests to PGs that answer
     * @param maxHeldBytes of memory that writes may take
     */
    public record Limits(long attemptNanos, long maxInFlightBytes, long maxHeldBytes) {}

    private static final Logger LOG = LoggerFactory.getLogger(DataClient.class);
    private static final long TICK_MIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long TICK_MAX_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** How long a caller that brings more writes is kept waiting at most. */
    private static final long SLOW_DOWN_MILLIS = 250;

    /** Told that data servers refuse a session for ever. */
    @FunctionalInterface
    public interface Fenced {
        void told(long session, String detail);
    }

    private final MapHolder map;
    private final Channels channels;
    private final ScheduledExecutorService timer;
    private final ClientMeters meters;
    private final long attemptNanos;
    private final Fenced fenced;
    private final Runnable refreshMap;
    private final long silentNanos;
    private final Suspicion suspicion;
    private final PgBudgets<DataCall> budgets;
    private final StuckLog stuckLog = new StuckLog(this::primaryOf, LOG::warn, LOG::info);
    private final Set<DataCall> parked = ConcurrentHashMap.newKeySet();
    private final AttemptsInFlight inFlight = new AttemptsInFlight();
    private volatile DataSession session = new DataSession(0);

    /**
     * @param fenced told when a data server refuses a session for ever
     * @param refreshMap asks the MDS for a newer map, which then comes as a push
     */
    public DataClient(
            MapHolder map,
            Channels channels,
            ScheduledExecutorService timer,
            ClientMeters meters,
            Limits limits,
            Fenced fenced,
            Runnable refreshMap) {
        this.map = map;
        this.channels = channels;
        this.timer = timer;
        this.meters = meters;
        this.attemptNanos = limits.attemptNanos;
        this.fenced = fenced;
        this.refreshMap = refreshMap;
        this.silentNanos = limits.attemptNanos / 10;
        this.suspicion = new Suspicion(silentNanos, refreshMap, System.nanoTime());
        this.budgets =
                new PgBudgets<>(
                        new PgBudgets.Limits(
                                limits.maxInFlightBytes,
                                limits.maxHeldBytes,
                                silentNanos,
                                attemptNanos));
        map.onChange(this::mapChanged);
        long tick = Math.clamp(silentNanos / 4, TICK_MIN_NANOS, TICK_MAX_NANOS);
        var _ = Periodic.every(timer, tick, "The care for requests that wait", this::tick);
    }

    /** A session is open, the one before it has ended. Before the first request in it. */
    public void opened(long id) {
        session = new DataSession(id);
    }

    /** The newest session; it may have ended. */
    public DataSession session() {
        return session;
    }

    /** From here on nothing is counted in the newest session. */
    public void ending() {
        session.ending();
    }

    /** The newest session has ended: its requests that wait, for their turn too, fail with this. */
    public void end(FsException reason) {
        session.end(reason);
        budgets.remove(call -> call.session().ended() != null).forEach(DataCall::send);
        unpark();
    }

    // ---- memory of writes

    /**
     * Counts a write's memory; it is taken over, and to be released when it is written or dropped.
     * ENOMEM when the writes that wait hold as much as they may; then the buffer stays the
     * caller's.
     */
    public HeldData hold(DataTarget target, long offset, ByteBuf data) {
        int[] pgs = pgs(target.view(), target.inode(), offset, data.readableBytes());
        PgBudgets.Held held = budgets.hold(pgs, data.capacity());
        if (held == null) {
            meters.writeRefused();
            throw new FsException(
                    Errno.ENOMEM, "writes that wait for data servers hold " + heldBytes());
        }
        return new HeldData(budgets, held, data);
    }

    /** Whether no disk of the file's pool is nearly full. */
    public boolean hasRoom(DataView view) {
        Pool pool = map.current().pool(view.pool());
        return pool != null && pool.getFill() == Fill.FILL_NORMAL;
    }

    private int[] pgs(DataView view, long inode, long offset, long length) {
        ClusterMap present = map.current();
        long end = offset + length;
        int[] found = {pg(present, view, inode, view.chunk(offset))};
        long at = offset + view.pieceLength(offset, length);
        for (; at < end; at += view.pieceLength(at, end - at)) {
            int next = pg(present, view, inode, view.chunk(at));
            boolean known = false;
            for (int pg : found) {
                known |= pg == next;
            }
            if (!known) {
                found = Arrays.copyOf(found, found.length + 1);
                found[found.length - 1] = next;
            }
        }
        return found;
    }

    /** 0 where the map does not know the pool. */
    private static int pg(ClusterMap map, DataView view, long inode, int chunk) {
        return map.pool(view.pool()) == null ? 0 : map.pgOf(view.pool(), inode, chunk);
    }

    /**
     * Keeps a caller that brings more writes waiting: at most 250 ms while writes that the data
     * servers do answer hold much memory; and while those that they do not answer hold so much that
     * it might be refused, until they have been silent for as long as an attempt may take.
     */
    public void slowDown() {
        try {
            budgets.slowDown(SLOW_DOWN_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Bytes of memory that writes take. */
    public long heldBytes() {
        return budgets.heldBytes();
    }

    /** Of these, bytes of writes for PGs that do not answer. */
    public long stuckHeldBytes() {
        return budgets.stuckHeldBytes();
    }

    /** PGs that have not answered for a while, though something waits for them. */
    public int stuckPgs() {
        return budgets.stuckPgs();
    }

    /** Bytes of requests that were sent and not answered. */
    public long inFlightBytes() {
        return budgets.inFlightBytes();
    }

    /**
     * Writes bytes of one chunk; done when they are durable.
     *
     * @param data taken over
     */
    public void write(
            DataSession in,
            DataTarget target,
            int chunk,
            int offset,
            ByteBuf data,
            long deadlineNanos,
            Outcome outcome) {
        begin(
                new DataCall(
                        this,
                        in,
                        target,
                        pg(map.current(), target.view(), target.inode(), chunk),
                        chunk,
                        offset,
                        data,
                        deadlineNanos,
                        outcome));
    }

    public void read(
            DataSession in,
            DataTarget target,
            int chunk,
            int offset,
            int length,
            long deadlineNanos,
            Outcome outcome) {
        begin(
                new DataCall(
                        this,
                        in,
                        target,
                        pg(map.current(), target.view(), target.inode(), chunk),
                        chunk,
                        offset,
                        length,
                        false,
                        deadlineNanos,
                        outcome));
    }

    /**
     * As {@link #read}, for what nobody waits for yet: it is only sent if there is room, and keeps
     * no other request waiting. False: there is none, and the outcome is not reported.
     */
    public boolean readSpare(
            DataSession in,
            DataTarget target,
            int chunk,
            int offset,
            int length,
            long deadlineNanos,
            Outcome outcome) {
        int pg = pg(map.current(), target.view(), target.inode(), chunk);
        DataCall call =
                new DataCall(
                        this, in, target, pg, chunk, offset, length, true, deadlineNanos, outcome);
        if (in.ended() != null || !budgets.acquireSpare(pg, length, System.nanoTime())) {
            return false;
        }
        call.start();
        return true;
    }

    private void begin(DataCall call) {
        if (call.session().ended() != null) {
            call.send();
        } else if (budgets.acquire(call.pg(), call.bytes(), call, System.nanoTime())) {
            call.start();
        } else if (call.droppable() || call.session().ended() != null) { // since it was looked at
            budgets.remove(waiting -> waiting == call).forEach(DataCall::send);
        } else {
            startPossible();
        }
    }

    /** Ends requests that were not sent and that nobody waits for any more. */
    public void dropUnwanted() {
        budgets.remove(DataCall::droppable).forEach(DataCall::send);
        for (DataCall call : parked) {
            if (call.droppable()) {
                resume(call);
            }
        }
    }

    /** Requests that wait for their turn, or to be repeated. */
    public int queued() {
        return budgets.waiting() + parked.size();
    }

    private void tick() {
        long now = System.nanoTime();
        budgets.tick(now);
        stuckLog.look(budgets.stuckSince(), now);
        budgets.remove(call -> call.late(now)).forEach(DataCall::send);
        startPossible();
        if (inFlight.silentFor(silentNanos, now)) {
            suspicion.raise(now);
        }
    }

    private String primaryOf(int pg) {
        InetSocketAddress address = map.current().primaryAddress(pg);
        return address == null ? "(not in the cluster map)" : RpcAddress.format(address);
    }

    private void startPossible() {
        if (!budgets.drain()) {
            return; // the thread that does sees the room, however deep below it we are
        }
        for (DataCall call = budgets.next(System.nanoTime());
                call != null;
                call = budgets.next(System.nanoTime())) {
            try {
                call.start();
            } catch (RuntimeException | Error e) { // the others that wait must go on
                LOG.error("A request could not be started", e);
            }
        }
    }

    // ---- for DataCall

    /** A call that was started is over, its outcome is told by {@code then}. */
    void finished(DataCall call, boolean answered, Runnable then) {
        if (call.isSpare()) {
            budgets.releaseSpare(call.pg(), call.bytes(), answered, System.nanoTime());
        } else {
            budgets.release(call.pg(), call.bytes(), answered, System.nanoTime());
        }
        try {
            then.run();
        } finally {
            startPossible();
        }
    }

    MapHolder map() {
        return map;
    }

    Channels channels() {
        return channels;
    }

    ClientMeters meters() {
        return meters;
    }

    long attemptNanos() {
        return attemptNanos;
    }

    /**
     * A data server refuses the session for ever.
     *
     * @return why it has ended, or null while another thread is still about to end it
     */
    @Nullable FsException fenced(DataSession in, String detail) {
        in.ending();
        fenced.told(in.id(), detail);
        return in.ended();
    }

    /** The attempts whose outcome is awaited. */
    AttemptsInFlight inFlight() {
        return inFlight;
    }

    void refreshMap() {
        refreshMap.run();
    }

    /** A data server cannot be reached. */
    void suspect() {
        suspicion.raise(System.nanoTime());
    }

    /** The map names another primary than it was sent to: its call goes there, now. */
    void abandon(DataAttempt attempt) {
        if (inFlight.take(attempt)) {
            meters.dataRetried();
            try {
                attempt.call().again();
            } catch (RuntimeException | Error e) { // whoever came to abandon it must go on
                LOG.error("A request could not be sent to another data server", e);
            }
        }
    }

    /** Sends the request again after the delay, or as soon as the map changes. */
    void park(DataCall call, long delayNanos) {
        meters.dataRetried();
        parked.add(call);
        try {
            var _ = timer.schedule(() -> resume(call), delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            call.session().end(new FsException(Errno.EIO, "the client is closed"));
            resume(call);
        }
    }

    private void resume(DataCall call) {
        if (parked.remove(call)) {
            call.again();
        }
    }

    private void mapChanged() {
        unpark();
        for (DataAttempt attempt : inFlight.deposed(map.current())) {
            abandon(attempt);
        }
    }

    private void unpark() {
        if (!parked.isEmpty()) {
            List.copyOf(parked).forEach(this::resume);
        }
    }
}
