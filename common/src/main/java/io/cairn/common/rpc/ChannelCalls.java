package io.cairn.common.rpc;

import io.cairn.common.errno.Errno;
import io.netty.buffer.ByteBuf;
import io.netty.util.collection.LongObjectHashMap;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one channel without an answer: those that wait for a connection, and those that were
 * sent and wait for the answer with their number. A one-way message waits for a connection only. On
 * the channel's event loop only.
 */
final class ChannelCalls {
    private final InetSocketAddress address;
    private final DeadlineWheel wheel;
    private final LongObjectHashMap<PendingCall> sent = new LongObjectHashMap<>();
    private final ArrayDeque<PendingCall> waiting = new ArrayDeque<>();
    private long nextId = 1;

    ChannelCalls(InetSocketAddress address, DeadlineWheel wheel) {
        this.address = address;
        this.wheel = wheel;
    }

    /** How many were sent and wait for their answer. */
    int sent() {
        return sent.size();
    }

    /** How many wait for a connection. */
    int waiting() {
        return waiting.size();
    }

    /** It waits for a connection. */
    void await(PendingCall call) {
        waiting.add(call);
        if (!call.oneWay()) {
            wheel.add(call);
        }
    }

    /** Takes out the one that has waited longest; there must be one. */
    PendingCall takeWaiting() {
        return waiting.remove();
    }

    /**
     * It is being sent: gives it its number.
     *
     * @return milliseconds that the server has for it, 0 for a one-way message
     */
    int sent(PendingCall call, long now) {
        if (call.oneWay()) {
            return 0;
        }
        call.id = nextId++;
        sent.put(call.id, call);
        if (call.bucket < 0) {
            wheel.add(call);
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(call.deadlineNanos - now);
        return (int) Math.max(1, millis);
    }

    /** It was taken out and is not sent. */
    void forget(PendingCall call) {
        wheel.remove(call);
    }

    void answered(long id, int word, ByteBuf head, ByteBuf payload) {
        @Nullable PendingCall call = sent.remove(id);
        if (call == null) {
            return; // after its deadline
        }
        wheel.remove(call);
        if (word == 0) {
            call.complete(RpcStatus.OK, head, payload);
            return;
        }
        Errno errno = Errno.of(FrameFormat.errno(word));
        Advice advice = Advice.of(FrameFormat.advice(word));
        call.fail(RpcStatus.fail(errno, advice, head.toString(StandardCharsets.UTF_8)));
    }

    /** Its deadline has passed. */
    void expired(PendingCall call) {
        if (call.id != 0) {
            sent.remove(call.id);
        } else {
            waiting.remove(call);
        }
        call.fail(timedOut());
    }

    RpcStatus timedOut() {
        return RpcStatus.fail(
                Errno.ETIMEDOUT,
                Advice.RETRY,
                RpcAddress.format(address) + " did not answer in time");
    }

    /** The connection is lost: those that were sent, in that order, then those that wait. */
    void failAll(RpcStatus status) {
        List<PendingCall> calls = takeSent();
        calls.addAll(waiting);
        waiting.clear();
        fail(calls, status);
    }

    /** Those that were sent, in that order, will not be answered. */
    void failSent(RpcStatus status) {
        fail(takeSent(), status);
    }

    private List<PendingCall> takeSent() {
        List<PendingCall> calls = new ArrayList<>(sent.values());
        sent.clear();
        calls.sort((a, b) -> Long.compare(a.id, b.id));
        return calls;
    }

    private void fail(List<PendingCall> calls, RpcStatus status) {
        for (PendingCall call : calls) {
            wheel.remove(call);
            call.fail(status);
        }
    }
}
