/**
 * Client sessions at the leader: their life, and the order of their mutations.
 *
 * <p>A batch of mutations arrives at {@link io.cairn.mds.session.Mutations}, waits in its session's
 * {@link io.cairn.mds.session.MutationOrder} for the numbers before it, gets its inode ids, and
 * goes into the log; its answer leaves when the entry is applied. {@link
 * io.cairn.mds.session.ClientSessions} opens, renews, closes and evicts sessions by entries of
 * their own, and {@link io.cairn.mds.session.SessionTable} follows what was applied.
 *
 * <p>Threads: mutations and renewals arrive on RPC event loops and are submitted there, answers
 * leave on the applying thread, and sessions are opened, closed and evicted on the control thread.
 */
@NullMarked
package io.cairn.mds.session;

import org.jspecify.annotations.NullMarked;
