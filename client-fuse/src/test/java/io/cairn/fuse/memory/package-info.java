/** A client library that keeps a file system in memory, for tests and measurements of the mount. */
@NullMarked
package io.cairn.fuse.memory;

import org.jspecify.annotations.NullMarked;
