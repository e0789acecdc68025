/**
 * The metadata server: {@link io.cairn.mds.server.MdsServer} puts the replicated state, the log and
 * RPC together; the other classes are the leader's duties.
 *
 * <p>Threads: requests arrive on RPC event loops; reads are answered there. Mutations are submitted
 * there and answered by the thread that applies the log. Everything a leader does of its own accord
 * (sessions, data servers, map, deletions) runs on one control thread, {@link
 * io.cairn.mds.server.Leadership} says when.
 */
@NullMarked
package io.cairn.mds.server;

import org.jspecify.annotations.NullMarked;
