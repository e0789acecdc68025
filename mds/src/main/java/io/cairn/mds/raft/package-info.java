/**
 * The replicated log: everything that knows Ratis.
 *
 * <p>Entries come in through {@link io.cairn.mds.raft.MetaLog}. They go to the leader's log, to a
 * majority of the members, and then on each member to {@link io.cairn.mds.raft.ReplicatedState},
 * which a room above implements. Checkpoints of that state let the log be truncated, and bring a
 * member up to date that has fallen behind.
 *
 * <p>Threads: any thread submits entries; Ratis's own threads log, sync and apply them, one thread
 * at a time applying.
 */
@NullMarked
package io.cairn.mds.raft;

import org.jspecify.annotations.NullMarked;
