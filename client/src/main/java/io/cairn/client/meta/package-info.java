/**
 * The session with the metadata service, and the next one when it ends. {@link
 * io.cairn.client.meta.MdsLeader} finds the leader, {@link io.cairn.client.meta.SessionOpening}
 * opens the session there, {@link io.cairn.client.meta.Renewals} keeps its lease. Mutations and
 * queries go down to the leader's channel, mutations in the order of their numbers; answers
 * complete futures on the way back, and requests without an answer are sent to the next leader. Any
 * thread; one lock guards the session and all it carries, channels are called under it, and futures
 * complete outside of it.
 */
@NullMarked
package io.cairn.client.meta;

import org.jspecify.annotations.NullMarked;
