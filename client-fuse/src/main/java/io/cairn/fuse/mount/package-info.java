/**
 * Mounting and unmounting, as root, through fusermount3 and by libfuse. It makes operations and
 * session of one mount, by the binding that its options name, and takes them down in the reverse
 * order. The thread that mounts, and the one that unmounts.
 */
@NullMarked
package io.cairn.fuse.mount;

import org.jspecify.annotations.NullMarked;
