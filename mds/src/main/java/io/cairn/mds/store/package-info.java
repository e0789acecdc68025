/**
 * The replicated state as rows of one RocksDB: the key space, the layouts of the values, and what
 * of them is kept in memory.
 *
 * <p>An operation reads and changes rows through {@link io.cairn.mds.store.StateTx}, which shows
 * its own changes over the committed state; {@link io.cairn.mds.store.MetaStore} then commits them
 * as one RocksDB batch with the entry's position in it. Reads go past the transaction: to the
 * caches, or to a {@link io.cairn.mds.store.MetaView} of the state after the last entry. Knows
 * nothing of what an operation means.
 *
 * <p>Threads: one applying thread writes, any thread reads meanwhile; neither waits for the other.
 */
@NullMarked
package io.cairn.mds.store;

import org.jspecify.annotations.NullMarked;
