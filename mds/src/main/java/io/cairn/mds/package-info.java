/**
 * The metadata service. From top to bottom: {@code server} wires everything and answers reads;
 * {@code background} and {@code session} are the leader's work for data and for clients; {@code
 * lease} is what clients may believe without asking; {@code cluster} is the leader's view of the
 * data servers; {@code leader} says whether this member leads; {@code namespace} is the replicated
 * state with its operations, {@code store} its database; {@code raft} replicates the log, {@code
 * map} computes placements, {@code metrics} has the meters.
 *
 * <p>A mutation passes {@code session}, {@code leader} and {@code raft} on its way into the log,
 * and {@code namespace} and {@code store} when it is applied. A read passes {@code server}, {@code
 * namespace} and {@code store}; both pass {@code lease} before they are answered. Imports point
 * down this list only.
 *
 * <p>Threads: RPC event loops for requests, one applying thread, one control thread; each room says
 * which of them it is called on.
 */
@NullMarked
package io.cairn.mds;

import org.jspecify.annotations.NullMarked;
