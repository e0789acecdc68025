package io.cairn.mds.lease;

import io.cairn.common.rpc.RpcStatus;

/** An answer that waits for recalls. One of the two is called, once, on any thread. */
public interface WaitingAnswer {
    /** Nobody believes any more what it contradicts. */
    void send();

    /** This member leads no more: it must not be sent. */
    void refuse(RpcStatus status);
}
