/**
 * The operations on the replicated state: what each entry of the log and each read of the namespace
 * does.
 *
 * <p>{@link io.cairn.mds.namespace.MetaState} is the door. The log gives it entries in order; each
 * is checked and executed in one transaction of {@code store}, and listeners hear of what was
 * committed. Requests read through {@link io.cairn.mds.namespace.NamespaceReader}, the leader's own
 * work through {@link io.cairn.mds.namespace.ControlReader}.
 *
 * <p>Threads: one applying thread executes entries, any thread reads meanwhile and sees the state
 * between two entries.
 */
@NullMarked
package io.cairn.mds.namespace;

import org.jspecify.annotations.NullMarked;
