package io.cairn.mds.lease;

import io.cairn.common.rpc.RpcPeer;
import org.jspecify.annotations.Nullable;

/** The sessions that are open, as leases need them. Any thread. */
public interface LeaseHolders {
    boolean isOpen(long session);

    /** Whether the session has asked for leases, at some time. */
    boolean borrows(long session);

    /** Where it is reached; null where it is not known, or the session is not open. */
    @Nullable RpcPeer peer(long session);

    /** When it was heard of last; long ago for one that is not open. */
    long heardNanos(long session);

    /**
     * Whether it was asked for something so long ago, and has not been heard of for so long.
     *
     * @param nowNanos by the clock of {@link #heardNanos}
     */
    default boolean isSilent(long session, long askedNanos, long nowNanos, long silenceNanos) {
        return nowNanos - askedNanos > silenceNanos
                && nowNanos - heardNanos(session) > silenceNanos;
    }

    /** The session asks for leases, on this connection. */
    void borrowing(long session, RpcPeer peer);
}
