package io.cairn.client.name;

import io.cairn.client.meta.PendingMutation;
import io.cairn.common.proto.Attr;
import java.util.concurrent.CompletableFuture;

/**
 * Something that was made before the MDS has it.
 *
 * @param attr as programs are told, with what the kernel may believe
 * @param round of the session's delegations in which it was made
 * @param session in which it is made, if it is
 * @param pending on its way to the MDS
 * @param done completes when the MDS has made it; fails with why it has not
 */
public record Born(
        Attr attr,
        long round,
        long session,
        PendingMutation pending,
        CompletableFuture<Void> done) {}
