package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * Requests that are not answered.
 *
 * <pre>
 * fuse_forget_in, 8    fuse_batch_forget_in, 8, then count × 16   fuse_interrupt_in, 8
 *  0 nlookup u64        0 count u32                                0 unique u64 of the request
 *                       4 dummy u32
 *                       8 nodeid u64, nlookup u64, …
 * </pre>
 */
public final class ForgetFormat {
    public static final int FORGET_SIZE = 8;
    public static final int BATCH_SIZE = 8;
    public static final int INTERRUPT_SIZE = 8;

    private ForgetFormat() {}

    /** The request a process no longer wants to wait for. */
    public static long interruptTarget(MemorySegment in) {
        return Native.u64(in, 0);
    }
}
