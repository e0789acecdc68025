/**
 * The operations on the replicated state: what each entry of the log changes, and what each read of
 * the namespace returns.
 *
 * <p>Entries come in through {@link io.cairn.mds.namespace.MetaState}, in the order of the log.
 * Each is checked and executed in one transaction of {@code store}; then listeners are told of the
 * change. Requests read through {@link io.cairn.mds.namespace.NamespaceReader}, the leader's
 * background work through {@link io.cairn.mds.namespace.ControlReader}.
 *
 * <p>Threads: one applying thread executes entries; any thread reads meanwhile, and sees the state
 * between two entries.
 */
@NullMarked
package io.cairn.mds.namespace;

import org.jspecify.annotations.NullMarked;
