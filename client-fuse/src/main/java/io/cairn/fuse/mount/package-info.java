/**
 * Mounting and unmounting, as root and through fusermount3. It makes client, operations and session
 * of one mount and takes them down in the reverse order. The thread that mounts, and the one that
 * unmounts.
 */
@NullMarked
package io.cairn.fuse.mount;

import org.jspecify.annotations.NullMarked;
