package io.cairn.dataserver.replication;

import io.cairn.common.rpc.RpcStatus;

/** A member's answer to the primary's peer query. Exactly one method is called, once. */
public interface PeerAnswer {
    void history(long pgEpoch, PgHistory history, DiskSpace space);

    void refuse(RpcStatus status);
}
