package io.cairn.fuse.libc;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;

/** The calling thread's errno after a downcall: one small native segment per thread. */
final class CallState {
    private static final long ERRNO_OFFSET =
            Linker.Option.captureStateLayout()
                    .byteOffset(java.lang.foreign.MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> SEGMENT =
            ThreadLocal.withInitial(
                    () -> Arena.ofAuto().allocate(Linker.Option.captureStateLayout()));

    private CallState() {}

    static MemorySegment errno() {
        return SEGMENT.get();
    }

    /** The negative error number the last call of this thread left. */
    static int failed(MemorySegment state) {
        return -state.get(JAVA_INT, ERRNO_OFFSET);
    }

    /** A downcall itself throws only when its handle is used wrongly. */
    static AssertionError unexpected(Throwable cause) {
        return new AssertionError("downcall failed", cause);
    }
}
