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
import org.jspecify.annotations.Nullable;

/**
 * Sends pieces of files to the primaries of their placement groups and repeats them until they are
 * answered or late, or their session has ended. Any thread; outcomes are reported on event loops or
 * on the timer, never on the thread that asked before the method has returned, unless the request
 * is refused at once.
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
    private final Set<DataCall> parked = ConcurrentHashMap.newKeySet();
    private volatile DataSession session = new DataSession(0);

    /**
     * @param attemptNanos how long one attempt may take
     * @param refreshMap asks the MDS for a newer map, which then comes as a push
     */
    public DataClient(
            MapHolder map,
            Channels channels,
            ScheduledExecutorService timer,
            ClientMeters meters,
            long attemptNanos,
            Fenced fenced,
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

    /** The newest session has ended: its requests that wait to be repeated fail with this. */
    public void end(FsException reason) {
        session.end(reason);
        unpark();
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
        new DataCall(this, in, target, chunk, offset, data, deadlineNanos, outcome).send();
    }

    public void read(
            DataSession in,
            DataTarget target,
            int chunk,
            int offset,
            int length,
            long deadlineNanos,
            Outcome outcome) {
        new DataCall(this, in, target, chunk, offset, length, deadlineNanos, outcome).send();
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

    ClientMeters meters() {
        return meters;
    }

    long attemptNanos() {
        return attemptNanos;
    }

    /** The failure of a request whose session a data server refuses. */
    FsException fenced(DataSession in, String detail) {
        in.ending();
        fenced.told(in.id(), detail);
        FsException reason = in.ended();
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
            call.session().end(new FsException(Errno.EIO, "the client is closed"));
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
