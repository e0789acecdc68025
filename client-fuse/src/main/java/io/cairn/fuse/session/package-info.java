/**
 * The conversation with /dev/fuse: reading requests, answering, interrupts, notifications. A reader
 * takes a request from its descriptor, hands it to {@code op}, and the answer is written straight
 * from the memory it lies in. Two reader threads; answers from any thread; notifications from a
 * thread of their own, since the kernel may wait in them.
 */
@NullMarked
package io.cairn.fuse.session;

import org.jspecify.annotations.NullMarked;
