/** The few Linux system calls a mount needs, through java.lang.foreign. */
@NullMarked
package io.cairn.fuse.libc;

import org.jspecify.annotations.NullMarked;
