package io.cairn.client.meta;

import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.Timespec;
import java.time.Instant;

/** Where every mutation of a client begins. Any thread. */
public final class NewMutation {
    private NewMutation() {}

    /** A mutation without an operation yet, with the time of this client's clock. */
    public static Mutation.Builder stamped() {
        Instant now = Instant.now();
        return Mutation.newBuilder()
                .setTime(
                        Timespec.newBuilder()
                                .setSeconds(now.getEpochSecond())
                                .setNanos(now.getNano()));
    }
}
