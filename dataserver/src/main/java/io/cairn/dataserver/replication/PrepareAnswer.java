package io.cairn.dataserver.replication;

import io.cairn.common.rpc.RpcStatus;

/**
 * A backup's answer to one {@link Prepare}. Exactly one of {@link #durable}, {@link #gap} and
 * {@link #refuse} is called, once.
 */
public interface PrepareAnswer {
    /** The operation was not here before, and is in the log now. Called before the answer. */
    void appended();

    /**
     * Everything up to the sequence is durable here and is the primary's history.
     *
     * @param space what this disk still takes, for the primary's admission
     */
    void durable(long pgEpoch, long durableSequence, DiskSpace space);

    /** The prepare does not fit; the primary continues after {@code haveSequence}. */
    void gap(long pgEpoch, long haveSequence, DiskSpace space);

    /** Not now (RETRY), or of an older epoch (REFRESH_MAP). */
    void refuse(RpcStatus status);
}
