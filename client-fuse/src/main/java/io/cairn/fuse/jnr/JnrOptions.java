package io.cairn.fuse.jnr;

/**
 * How a mount through libfuse behaves, beside what libfuse itself is told.
 *
 * @param pageCache whether files go through the kernel's page cache, unless a program asks for
 *     O_DIRECT or O_APPEND
 * @param wsync whether every write waits until the size and the times it made are committed
 * @param locks whether locks are asked of us; else the kernel keeps them, for this mount alone
 * @param debug log every call
 */
public record JnrOptions(boolean pageCache, boolean wsync, boolean locks, boolean debug) {}
