package io.cairn.mds.session;

import io.cairn.common.release.Release;
import io.cairn.common.rpc.RpcPeer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** What the leader knows of one open session beyond the replicated record; not durable. */
public final class ClientSession {
    private final long id;
    private final MutationOrder<MutationCall> order;
    private volatile long renewedNanos;
    private volatile @Nullable RpcPeer peer;

    /** It asks for read leases. */
    private volatile boolean borrows;

    ClientSession(
            long id,
            long nowNanos,
            Consumer<MutationCall> submit,
            Consumer<MutationCall> refuse,
            LongSupplier lastExecuted) {
        this.id = id;
        this.renewedNanos = nowNanos;
        this.order = new MutationOrder<>(submit, refuse, lastExecuted);
    }

    long id() {
        return id;
    }

    MutationOrder<MutationCall> order() {
        return order;
    }

    /** On the connection by which it is reached now. */
    void renewed(long nowNanos, RpcPeer by) {
        renewedNanos = nowNanos;
        peer = by;
    }

    void renewed(long nowNanos) {
        renewedNanos = nowNanos;
    }

    public long renewedNanos() {
        return renewedNanos;
    }

    /** Of Cairn; empty if the client was not heard of by this leader, or does not say. */
    public String release() {
        RpcPeer by = peer;
        return by == null ? "" : Release.shown(by.hello().getRelease());
    }

    boolean borrows() {
        return borrows;
    }

    /** It asks for read leases on this connection, on which they are recalled. */
    void borrowing(RpcPeer by) {
        borrows = true;
        peer = by;
    }

    @Nullable RpcPeer peer() {
        return peer;
    }
}
