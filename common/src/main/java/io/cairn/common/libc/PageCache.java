package io.cairn.common.libc;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
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
        int errno =
                Descriptors.withOpen(
                        path,
                        O_RDONLY_CLOEXEC,
                        "to drop it from the page cache",
                        (fd, _) ->
                                (int) Calls.FADVISE.invokeExact(fd, 0L, 0L, POSIX_FADV_DONTNEED));
        if (errno != 0) {
            throw new IOException(path + " cannot be dropped from the page cache: errno " + errno);
        }
    }

    /** Looked up when it is first needed. */
    private static final class Calls {
        private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
        private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

        static final MethodHandle FADVISE =
                Descriptors.call("posix_fadvise", FunctionDescriptor.of(INT, INT, LONG, LONG, INT));
    }
}
