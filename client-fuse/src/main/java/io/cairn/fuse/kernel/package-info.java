/**
 * The kernel's FUSE protocol: opcodes, flags and the layout of every message. {@code session} and
 * {@code op} read requests and write answers with it. No I/O, no state: any thread.
 */
@NullMarked
package io.cairn.fuse.kernel;

import org.jspecify.annotations.NullMarked;
