/**
 * The few Linux system calls a mount needs, through java.lang.foreign. Calls go down, results and
 * errno come back. Any thread; errno is kept per call.
 */
@NullMarked
package io.cairn.fuse.libc;

import org.jspecify.annotations.NullMarked;
