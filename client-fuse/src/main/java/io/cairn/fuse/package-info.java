/**
 * The mount: the kernel's requests, translated to the client library. A request comes from
 * /dev/fuse through {@code session} to {@code op}, which calls the client and answers; {@code
 * mount} makes and ends all of it; {@code kernel} and {@code libc} lie below. Two threads read, and
 * whichever thread completes a request answers it.
 */
@NullMarked
package io.cairn.fuse;

import org.jspecify.annotations.NullMarked;
