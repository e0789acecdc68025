package io.cairn.common.libc;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/** Calls of the C library on files opened for them. Stateless, any thread. */
final class Descriptors {
    /** Option of a call that sets errno; its first argument is then a {@link #STATE}. */
    static final Linker.Option SETS_ERRNO = Linker.Option.captureCallState("errno");

    static final StructLayout STATE = Linker.Option.captureStateLayout();

    private static final VarHandle ERRNO =
            STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final Linker LINKER = Linker.nativeLinker();
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

    // variadic: a mode would follow, which opening an existing file does not take
    private static final MethodHandle OPEN =
            call(
                    "open",
                    FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT),
                    Linker.Option.firstVariadicArg(2),
                    SETS_ERRNO);
    private static final MethodHandle CLOSE = call("close", FunctionDescriptor.of(INT, INT));

    /** What is done with an open file. */
    interface Work<T> {
        /**
         * @param arena closed when this returns
         */
        T on(int descriptor, Arena arena) throws Throwable;
    }

    private Descriptors() {}

    static MethodHandle call(String name, FunctionDescriptor type, Linker.Option... options) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type, options);
    }

    static int errno(MemorySegment state) {
        return (int) ERRNO.get(state, 0L);
    }

    /**
     * Opens the file, does the work and closes it.
     *
     * @param purpose for the message: {@code "to drop it from the page cache"}
     * @throws IOException naming the file when it cannot be opened, or what the work throws
     */
    static <T> T withOpen(Path path, int flags, String purpose, Work<T> work) throws IOException {
        int fd = open(path, flags, purpose);
        try (Arena arena = Arena.ofConfined()) {
            return work.on(fd, arena);
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        } finally {
            close(fd);
        }
    }

    /**
     * Returns the descriptor of an existing file.
     *
     * @param purpose for the message: {@code "to drop it from the page cache"}
     * @throws IOException naming the file when it cannot be opened
     */
    static int open(Path path, int flags, String purpose) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            int fd = (int) OPEN.invokeExact(state, arena.allocateFrom(path.toString()), flags);
            if (fd < 0) {
                throw new IOException(
                        path + " cannot be opened " + purpose + ": errno " + errno(state));
            }
            return fd;
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    static void close(int descriptor) {
        try {
            int _ = (int) CLOSE.invokeExact(descriptor);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
