package io.cairn.mds.namespace;

import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.store.StateTx;

/** What all members act by, and how it changes. The applying thread only. */
final class Settings {
    private Settings() {}

    /** Fields of the change that are 0 stay as they are. */
    static ApplyReply.Builder change(StateTx tx, ClusterSettings change) {
        tx.settings = tx.settings.toBuilder().mergeFrom(change).build();
        return ApplyReply.newBuilder();
    }
}
