package io.cairn.client.meta;

import io.cairn.common.proto.Mutation;
import io.cairn.common.time.WallClock;

/** Where every mutation of a client begins. Any thread. */
public final class NewMutation {
    private NewMutation() {}

    /** A mutation without an operation yet, with the time of this client's clock. */
    public static Mutation.Builder stamped() {
        return Mutation.newBuilder().setTime(WallClock.now());
    }
}
