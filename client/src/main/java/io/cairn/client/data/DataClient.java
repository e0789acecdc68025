package io.cairn.client.data;

import io.cairn.client.base.Channels;
import io.cairn.client.base.ClientMeters;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Sends pieces of files to the primaries of their placement groups and repeats them until they are
 * answered or late. Any thread; outcomes are reported on event loops or on the timer, never on the
 * thread that asked before the method has returned, unless the request is refused at once.
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
    }

    private final MapHolder map;
    private final Channels channels;
    private final ScheduledExecutorService timer;
    private final ClientMeters meters;
    private final long attemptNanos;
    private final Consumer<String> fenced;
    private final Runnable refreshMap;
    private final DataNumbers numbers = new DataNumbers();
    private final Set<DataCall> parked = ConcurrentHashMap.newKeySet();
    private volatile long session;
    private volatile @Nullable FsException dead;

    /**
     * @param attemptNanos how long one attempt may take
     * @param fenced told when a data server refuses the session for ever
     * @param refreshMap asks the MDS for a newer map, which then comes as a push
     */
    public DataClient(
            MapHolder map,
            Channels channels,
            ScheduledExecutorService timer,
            ClientMeters meters,
            long attemptNanos,
            Consumer<String> fenced,
            Runnable refreshMap) {
        this.map = map;
        this.channels = channels;
        this.timer = timer;
        this.meters = meters;
        this.attemptNanos = attemptNanos;
        this.fenced = fenced;
        this.refreshMap = refreshMap;
        map.onChange(this::unpark);
    }

    /** Must be called before the first request. */
    public void session(long id) {
        session = id;
    }

    /** Every request from now on, and every one that waits to be repeated, fails with this. */
    public void die(FsException reason) {
        dead = reason;
        unpark();
    }

    /**
     * Writes bytes of one chunk; done when they are durable.
     *
     * @param data taken over
     */
    public void write(
            DataTarget target,
            int chunk,
            int offset,
            ByteBuf data,
            long deadlineNanos,
            Outcome outcome) {
        new DataCall(this, target, chunk, offset, data, deadlineNanos, outcome).send();
    }

    public void read(
            DataTarget target,
            int chunk,
            int offset,
            int length,
            long deadlineNanos,
            Outcome outcome) {
        new DataCall(this, target, chunk, offset, length, deadlineNanos, outcome).send();
    }

    /** Requests that wait to be repeated. */
    public int parked() {
        return parked.size();
    }

    // ---- for DataCall

    MapHolder map() {
        return map;
    }

    Channels channels() {
        return channels;
    }

    DataNumbers numbers() {
        return numbers;
    }

    ClientMeters meters() {
        return meters;
    }

    long session() {
        return session;
    }

    long attemptNanos() {
        return attemptNanos;
    }

    @Nullable FsException dead() {
        return dead;
    }

    FsException fenced(String detail) {
        fenced.accept(detail);
        FsException reason = dead;
        return reason == null ? new FsException(Errno.EIO, "ESTALE: " + detail) : reason;
    }

    void refreshMap() {
        refreshMap.run();
    }

    /** Sends the request again after the delay, or as soon as the map changes. */
    void park(DataCall call, long delayNanos) {
        meters.dataRetried();
        parked.add(call);
        try {
            var _ = timer.schedule(() -> resume(call), delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            dead = new FsException(Errno.EIO, "the client is closed");
            resume(call);
        }
    }

    private void resume(DataCall call) {
        if (parked.remove(call)) {
            call.send();
        }
    }

    private void unpark() {
        if (!parked.isEmpty()) {
            List.copyOf(parked).forEach(this::resume);
        }
    }
}
