package io.cairn.mds.namespace;

import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.store.CorruptStateException;
import io.cairn.mds.store.StateTx;
import org.jspecify.annotations.Nullable;

/** The settings that all members share, and how they change. The applying thread only. */
final class Settings {
    private Settings() {}

    /** Fields of the change that are 0 stay as they are; the feature level never falls. */
    static ApplyReply.Builder change(StateTx tx, ClusterSettings change) {
        @Nullable String objection = Features.objection(change, "the group from now on");
        if (objection != null) {
            throw new CorruptStateException(objection);
        }
        tx.settings =
                tx.settings.toBuilder()
                        .mergeFrom(change)
                        .setFeatureLevel(
                                Math.max(tx.settings.getFeatureLevel(), change.getFeatureLevel()))
                        .build();
        return ApplyReply.newBuilder();
    }
}
