/**
 * Client sessions at the leader: how they begin and end, and the order of their mutations.
 *
 * <p>A batch of mutations arrives at {@link io.cairn.mds.session.Mutations}. It waits in its
 * session's {@link io.cairn.mds.session.MutationOrder} for the numbers before it, gets its inode
 * ids, and goes into the log; it is answered when its entry is applied. {@link
 * io.cairn.mds.session.ClientSessions} logs entries that open, close and evict sessions, and {@link
 * io.cairn.mds.session.SessionTable} follows the applied state.
 *
 * <p>Threads: mutations and renewals arrive on RPC event loops and are submitted there, answers
 * leave on the applying thread, and sessions are opened, closed and evicted on the control thread.
 */
@NullMarked
package io.cairn.mds.session;

import org.jspecify.annotations.NullMarked;
