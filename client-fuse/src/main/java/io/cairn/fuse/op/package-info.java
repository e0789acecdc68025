/** Every FUSE operation, translated to the client library. */
@NullMarked
package io.cairn.fuse.op;

import org.jspecify.annotations.NullMarked;
