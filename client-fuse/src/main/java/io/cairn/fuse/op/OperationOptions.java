package io.cairn.fuse.op;

/**
 * What the kernel may keep, and when writes are answered.
 *
 * @param entryTimeoutNanos how long the kernel may take a name for the same inode unasked
 * @param attrTimeoutNanos how long it may take attributes for true
 * @param directIo whether every file bypasses the kernel's page cache
 * @param wsync whether every write waits until the size and the times it made are committed
 * @param leases whether it keeps both only as long as their leases last, and attrTimeoutNanos at
 *     most; entryTimeoutNanos does not count then
 * @param locks whether locks are asked of us; else the kernel keeps them
 */
public record OperationOptions(
        long entryTimeoutNanos,
        long attrTimeoutNanos,
        boolean directIo,
        boolean wsync,
        boolean leases,
        boolean locks) {}
