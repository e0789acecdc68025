/**
 * The mount through libfuse 2 and jnr-fuse, for systems where /dev/fuse cannot be spoken to
 * directly. libfuse calls with paths; they become inodes, the client is called, and the thread of
 * libfuse waits for the answer. Threads are libfuse's, one for each call in flight.
 */
@NullMarked
package io.cairn.fuse.jnr;

import org.jspecify.annotations.NullMarked;
