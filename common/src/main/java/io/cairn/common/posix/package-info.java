/**
 * What POSIX gives numbers to and the protocol keeps: the bits of a file's mode. Constants and pure
 * functions. Any thread.
 */
@NullMarked
package io.cairn.common.posix;

import org.jspecify.annotations.NullMarked;
