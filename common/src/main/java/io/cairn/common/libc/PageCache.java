package io.cairn.common.libc;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The kernel's cache of one file, by posix_fadvise(2). Stateless, any thread. */
public final class PageCache {
    private static final int O_RDONLY_CLOEXEC = 0x80000;
    private static final int POSIX_FADV_DONTNEED = 4;

    private PageCache() {}

    /** Forgets what need not be written. Throws IOException naming the file when it cannot. */
    public static void drop(Path path) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            int fd =
                    (int)
                            Calls.OPEN.invokeExact(
                                    arena.allocateFrom(path.toString()), O_RDONLY_CLOEXEC);
            if (fd < 0) {
                throw new IOException(path + " cannot be opened to drop it from the page cache");
            }
            try {
                int errno = (int) Calls.FADVISE.invokeExact(fd, 0L, 0L, POSIX_FADV_DONTNEED);
                if (errno != 0) {
                    throw new IOException(
                            path + " cannot be dropped from the page cache: errno " + errno);
                }
            } finally {
                int _ = (int) Calls.CLOSE.invokeExact(fd);
            }
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Looked up when they are first needed. */
    private static final class Calls {
        private static final Linker LINKER = Linker.nativeLinker();
        private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
        private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

        // variadic: a mode would follow, which opening an existing file does not take
        static final MethodHandle OPEN =
                LINKER.downcallHandle(
                        LINKER.defaultLookup().findOrThrow("open"),
                        FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT),
                        Linker.Option.firstVariadicArg(2));
        static final MethodHandle CLOSE = call("close", FunctionDescriptor.of(INT, INT));
        static final MethodHandle FADVISE =
                call("posix_fadvise", FunctionDescriptor.of(INT, INT, LONG, LONG, INT));

        private static MethodHandle call(String name, FunctionDescriptor type) {
            return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type);
        }
    }
}
