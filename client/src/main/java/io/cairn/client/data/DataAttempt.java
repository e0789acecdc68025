package io.cairn.client.data;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.PrimaryDisk;
import io.cairn.common.rpc.RpcCallback;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * One request of a {@link DataCall} on its way. Its call belongs to it while it is among those
 * {@link AttemptsInFlight}, and then to who takes it out: the answer, or a newer map. An answer
 * that comes later, when the map has abandoned the attempt, is dropped, even if it is a success:
 * the attempt after it has the same number and is answered the same, while a refusal, true in an
 * epoch that is over, could contradict what the present primary has done. Any thread.
 */
final class DataAttempt implements RpcCallback {
    private final DataCall call;
    private final AttemptsInFlight among;
    private final int pg;
    private final PrimaryDisk to;
    private final long sentNanos;

    // Of AttemptsInFlight, under its monitor.
    boolean linked;
    @Nullable DataAttempt older;
    @Nullable DataAttempt newer;

    DataAttempt(DataCall call, AttemptsInFlight among, int pg, PrimaryDisk to, long sentNanos) {
        this.call = call;
        this.among = among;
        this.pg = pg;
        this.to = to;
        this.sentNanos = sentNanos;
    }

    DataCall call() {
        return call;
    }

    boolean sentFor(long nanos, long now) {
        return now - sentNanos >= nanos;
    }

    /** Whether another one is to be asked: false when there is nobody else. */
    boolean deposedBy(ClusterMap map) {
        PrimaryDisk primary = map.primary(pg);
        return primary != null && !primary.equals(to);
    }

    @Override
    public void done(RpcStatus status, ByteBuf head, ByteBuf received) {
        if (among.take(this)) {
            call.answered(status, head, received);
        }
    }
}
