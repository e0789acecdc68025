/**
 * The mount: the kernel's requests, translated to the client library. A request comes from
 * /dev/fuse through {@code session} to {@code op}, which calls the client and answers, or from
 * libfuse 2 to {@code jnr}, which does the same by paths; {@code mount} makes and ends all of it;
 * {@code kernel} and {@code libc} lie below. Two threads read /dev/fuse, and whichever thread
 * completes a request answers it; libfuse has a thread for each.
 */
@NullMarked
package io.cairn.fuse;

import org.jspecify.annotations.NullMarked;
