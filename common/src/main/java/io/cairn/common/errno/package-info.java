/**
 * What can go wrong as a caller sees it: {@link io.cairn.common.errno.Errno} names it, {@link
 * io.cairn.common.errno.FsException} carries it with a sentence. Servers put both into the status
 * of an answer, mounts turn the number into the kernel's. Any thread.
 */
@NullMarked
package io.cairn.common.errno;

import org.jspecify.annotations.NullMarked;
