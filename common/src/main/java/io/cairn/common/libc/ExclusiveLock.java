package io.cairn.common.libc;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A lock on a file, directory or device by flock(2): nobody else who asks for one gets it, in this
 * process or another, by whatever name, until this one is closed or the process ends. A lock of a
 * FileChannel is the process's and goes when any other opening of the file is closed. Any thread.
 */
public final class ExclusiveLock implements AutoCloseable {
    private static final int O_RDONLY_CLOEXEC = 0x80000;
    private static final int LOCK_EX_NB = 2 | 4;
    private static final int EINTR = 4;
    private static final int EWOULDBLOCK = 11;

    private final int descriptor;
    private final AtomicBoolean closed = new AtomicBoolean();

    private ExclusiveLock(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * Does not wait.
     *
     * @return null if somebody else has it
     * @throws IOException naming the file when it cannot be locked
     */
    public static @Nullable ExclusiveLock tryLock(Path path) throws IOException {
        int fd = Descriptors.open(path, O_RDONLY_CLOEXEC, "to be locked");
        int errno = -1;
        try {
            errno = flock(fd);
        } finally {
            if (errno != 0) {
                Descriptors.close(fd);
            }
        }
        return switch (errno) {
            case 0 -> new ExclusiveLock(fd);
            case EWOULDBLOCK -> null;
            default -> throw new IOException(path + " cannot be locked: errno " + errno);
        };
    }

    /** Returns the error, 0 if there was none. */
    private static int flock(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Descriptors.STATE);
            while ((int) Calls.FLOCK.invokeExact(state, descriptor, LOCK_EX_NB) != 0) {
                int errno = Descriptors.errno(state);
                if (errno != EINTR) {
                    return errno;
                }
            }
            return 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Once more does nothing. */
    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            Descriptors.close(descriptor);
        }
    }

    /** Looked up when it is first needed. */
    private static final class Calls {
        private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

        static final MethodHandle FLOCK =
                Descriptors.call(
                        "flock", FunctionDescriptor.of(INT, INT, INT), Descriptors.SETS_ERRNO);
    }
}
