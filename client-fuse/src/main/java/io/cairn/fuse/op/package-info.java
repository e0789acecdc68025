/**
 * Every FUSE operation, translated to the client library. A request is decoded, the client is
 * called, and its future answers the kernel. Reader threads call in and never wait; answers come
 * from the client's threads.
 */
@NullMarked
package io.cairn.fuse.op;

import org.jspecify.annotations.NullMarked;
