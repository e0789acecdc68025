package io.cairn.dataserver.replication;

import io.cairn.common.rpc.RpcStatus;

/**
 * Where the outcome of an admitted operation or read goes. Exactly one method is called, once, on
 * the PG's owner.
 */
public interface OpAnswer {
    /** The operation is committed, or the data read may be shown. */
    void done();

    /** It was not admitted, or its outcome is not known to this replica (advice RETRY). */
    void fail(RpcStatus status);
}
