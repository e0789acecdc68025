/**
 * The replicated log: everything that knows Ratis. {@link io.cairn.mds.raft.MetaLog} is the way in,
 * {@link io.cairn.mds.raft.ReplicatedState} what it drives.
 */
@NullMarked
package io.cairn.mds.raft;

import org.jspecify.annotations.NullMarked;
