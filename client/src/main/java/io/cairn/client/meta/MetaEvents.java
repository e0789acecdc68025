package io.cairn.client.meta;

import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MapUpdate;

/** What a {@link MetaClient} reports; called on its event loops and timer, must not block. */
public interface MetaEvents {
    /** Once, before the session is used. */
    void sessionOpened(long session, MapUpdate map);

    /** Once, when the cluster refuses the session for ever. */
    void sessionLost(FsException reason, int mutationsLost);

    /** A request is repeated. */
    void retried();
}
