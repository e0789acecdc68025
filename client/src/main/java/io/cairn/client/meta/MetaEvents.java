package io.cairn.client.meta;

import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import org.jspecify.annotations.Nullable;

/** What a {@link MetaClient} reports; called on its event loops and timer, must not block. */
public interface MetaEvents {
    /**
     * Before the session is used; another one only after {@link #sessionEnded}.
     *
     * @param map null if the client has the present one, or what it lacks of that follows as
     *     increments
     * @param featureLevel of the group, 0 if it does not say
     */
    void sessionOpened(long session, @Nullable MapUpdate map, int featureLevel);

    /**
     * The cluster refuses the session for ever, or it cannot go on. Nothing is sent in it any more,
     * but those who wait for answers have not been told yet, and the next one is not open.
     */
    void sessionEnded(long session, FsException reason);

    /** A mutation was answered; those who wait for it have not been told yet. */
    void mutated(Mutation mutation, MutationResult result);

    /** A request is repeated. */
    void retried();
}
