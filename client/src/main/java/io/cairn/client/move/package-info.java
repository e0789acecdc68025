/**
 * Moves files into other pools while others use them. The metadata service keeps the state of a
 * move; here the chunks are copied: passes copy what changed since the pass before, then the chunks
 * refuse everybody else for a moment, the last changes are copied, and the layout is switched.
 * Blocking: each file has a thread of its own, its pieces are in flight together.
 */
@NullMarked
package io.cairn.client.move;

import org.jspecify.annotations.NullMarked;
