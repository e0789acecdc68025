package io.cairn.common.rpc;

import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts what goes over all connections of one side with peers of one role. Called for each message
 * of the data path: wait-free and without garbage. Any thread.
 */
final class RpcTraffic {
    private final @Nullable OperationTimer requests;
    private final LongAdder inFlight = new LongAdder();
    private final LongAdder oneWay = new LongAdder();
    private final LongAdder connections = new LongAdder();
    private final LongAdder received = new LongAdder();
    private final LongAdder sent = new LongAdder();
    private final LongAdder pings = new LongAdder();
    private final LongAdder replaced = new LongAdder();

    /**
     * @param meters null where nobody looks at them
     */
    RpcTraffic(@Nullable Meters meters, String side, String peer) {
        if (meters == null) {
            requests = null;
            return;
        }
        requests = meters.timer(RpcMeter.REQUEST, side, peer);
        meters.gauge(RpcMeter.IN_FLIGHT, inFlight::sum, side, peer);
        meters.counter(RpcMeter.ONE_WAY, oneWay::sum, side, peer);
        meters.gauge(RpcMeter.CONNECTIONS, connections::sum, side, peer);
        meters.counter(RpcMeter.RECEIVED, received::sum, side, peer);
        meters.counter(RpcMeter.SENT, sent::sum, side, peer);
        meters.counter(RpcMeter.PINGS, pings::sum, side, peer);
        meters.counter(RpcMeter.REPLACED, replaced::sum, side, peer);
    }

    void connected() {
        connections.increment();
    }

    void disconnected() {
        connections.decrement();
    }

    /** Each is {@link #finished} once. */
    void started() {
        inFlight.increment();
    }

    /** The request that began at that {@link System#nanoTime} has its answer, or gets none. */
    void finished(long startNanos, boolean succeeded) {
        inFlight.decrement();
        if (requests != null) {
            requests.recordSince(startNanos, succeeded);
        }
    }

    void oneWay() {
        oneWay.increment();
    }

    /** The peer was asked for a sign of life, or asked for one. */
    void pinged() {
        pings.increment();
    }

    void replaced() {
        replaced.increment();
    }

    void received(int bytes) {
        received.add(bytes);
    }

    void sent(int bytes) {
        sent.add(bytes);
    }
}
