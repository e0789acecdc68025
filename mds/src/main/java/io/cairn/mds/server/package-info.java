/**
 * The metadata server, put together: {@link io.cairn.mds.server.MdsServer} opens the replicated
 * state, the log and RPC, and wires the rooms below.
 *
 * <p>{@link io.cairn.mds.server.MdsHandler} gives each request to the room that answers it: reads
 * of the namespace to {@link io.cairn.mds.server.Queries}, mutations to {@code session}, data
 * servers to {@code cluster}.
 *
 * <p>Threads: requests arrive on RPC event loops; reads are answered there, except listings of
 * directories, which have threads of their own. Mutations are submitted there and answered by the
 * thread that applies the log. A leader's background work runs on the control thread.
 */
@NullMarked
package io.cairn.mds.server;

import org.jspecify.annotations.NullMarked;
