/** Mounting and unmounting, as root and through fusermount3. */
@NullMarked
package io.cairn.fuse.mount;

import org.jspecify.annotations.NullMarked;
