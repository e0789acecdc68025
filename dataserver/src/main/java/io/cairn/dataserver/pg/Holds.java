package io.cairn.dataserver.pg;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an administrator holds back, as the answer to the last heartbeat said; nothing before the
 * first. Any thread.
 */
public final class Holds {
    /** What a request of a client is answered with while clients are paused. */
    public static final RpcStatus PAUSED =
            RpcStatus.fail(
                    Errno.EAGAIN,
                    Advice.RETRY,
                    "an administrator holds back what clients read and write: 'cairn set pause off'");

    private static final Logger LOG = LoggerFactory.getLogger(Holds.class);

    private volatile boolean clientsPaused;
    private volatile boolean recoveryPaused;

    /** A heartbeat was answered. */
    public void said(boolean pauseClients, boolean pauseRecovery) {
        if (pauseClients != clientsPaused || pauseRecovery != recoveryPaused) {
            LOG.info(
                    "By the metadata service, clients are {}, recovery is {}",
                    pauseClients ? "paused" : "served",
                    pauseRecovery ? "paused" : "on");
        }
        clientsPaused = pauseClients;
        recoveryPaused = pauseRecovery;
    }

    public boolean clientsPaused() {
        return clientsPaused;
    }

    /** Whether no learner is begun with, and no chunk copied to one. */
    boolean recoveryPaused() {
        return recoveryPaused;
    }
}
