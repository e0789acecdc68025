/** What POSIX gives numbers to and the protocol keeps: the bits of a file's mode. */
@NullMarked
package io.cairn.common.posix;

import org.jspecify.annotations.NullMarked;
