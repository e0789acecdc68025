/** The conversation with /dev/fuse: reading requests, answering, interrupts, notifications. */
@NullMarked
package io.cairn.fuse.session;

import org.jspecify.annotations.NullMarked;
