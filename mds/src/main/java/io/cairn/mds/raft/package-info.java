/**
 * The replicated log: everything that knows Ratis.
 *
 * <p>{@link io.cairn.mds.raft.MetaLog} is the way in: entries go to the leader's log, to a majority
 * of the members, and then on each member to {@link io.cairn.mds.raft.ReplicatedState}, which this
 * room drives but does not know. Checkpoints of that state let the log be cut, and bring a member
 * up that has fallen behind.
 *
 * <p>Threads: any thread submits; Ratis's own threads log, sync and apply, one of them at a time
 * applying.
 */
@NullMarked
package io.cairn.mds.raft;

import org.jspecify.annotations.NullMarked;
