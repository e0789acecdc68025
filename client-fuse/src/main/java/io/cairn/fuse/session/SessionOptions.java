package io.cairn.fuse.session;

/**
 * How a session with the kernel is run.
 *
 * @param readers threads that take requests from the kernel, at least 1
 * @param maxBackground asynchronous requests the kernel lets be in flight; direct asynchronous I/O
 *     counts, so this bounds its depth. 1 to 65,535
 * @param maxWriteBytes largest READ and WRITE; a multiple of the page size
 * @param maxReadaheadBytes by which the kernel may read ahead
 * @param listing whether directories are listed with attributes
 * @param locks whether locks are asked of us; else the kernel keeps them, for this mount alone
 * @param debug log every request and answer
 */
public record SessionOptions(
        int readers,
        int maxBackground,
        int maxWriteBytes,
        int maxReadaheadBytes,
        Listing listing,
        boolean locks,
        boolean debug) {
    /** What the kernel asks for when a directory is listed. */
    public enum Listing {
        NAMES,
        /** Names, and attributes where programs seem to look at them. */
        AS_NEEDED,
        ATTRIBUTES
    }
}
