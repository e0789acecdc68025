/**
 * Files and directories that survive a power loss, and whole trees of them. Callers name what must
 * be durable; the directory is synced with the file. Any thread, none of its own.
 */
@NullMarked
package io.cairn.common.file;

import org.jspecify.annotations.NullMarked;
