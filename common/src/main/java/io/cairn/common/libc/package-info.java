/**
 * Calls of the C library that Java has no words for, and that every part may need. Nothing waits
 * here but for the kernel. Any thread.
 */
@NullMarked
package io.cairn.common.libc;

import org.jspecify.annotations.NullMarked;
