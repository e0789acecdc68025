/** The kernel's FUSE protocol: opcodes, flags and the layout of every message. No I/O. */
@NullMarked
package io.cairn.fuse.kernel;

import org.jspecify.annotations.NullMarked;
