package io.cairn.fuse.libc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * System calls on file descriptors. Any thread. Each returns what the call returns, or the negative
 * error number where it failed, so that the hot paths make no exceptions.
 */
public final class Libc {
    public static final int O_RDONLY = 0;
    public static final int O_RDWR = 2;
    public static final int O_DIRECTORY = 0x10000;
    public static final int O_CLOEXEC = 0x80000;

    static final Linker LINKER = Linker.nativeLinker();
    static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");

    private static final MethodHandle OPEN =
            variadic("open", 2, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = bind("close", JAVA_INT, JAVA_INT);
    private static final MethodHandle READ = bind("read", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle WRITE =
            bind("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle WRITEV =
            bind("writev", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle IOCTL =
            variadic("ioctl", 2, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle GETEUID = bind("geteuid", JAVA_INT);
    private static final MethodHandle GETEGID = bind("getegid", JAVA_INT);

    private Libc() {}

    /** A handle that takes the errno capture segment before its arguments. */
    static MethodHandle bind(String name, MemoryLayout result, MemoryLayout... arguments) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(result, arguments),
                ERRNO);
    }

    private static MethodHandle variadic(
            String name, int fixed, MemoryLayout result, MemoryLayout... arguments) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(result, arguments),
                ERRNO,
                Linker.Option.firstVariadicArg(fixed));
    }

    /** Opens an existing file. */
    public static int open(String path, int flags) {
        MemorySegment errno = CallState.errno();
        try (Arena arena = Arena.ofConfined()) {
            int fd = (int) OPEN.invokeExact(errno, arena.allocateFrom(path), flags, 0);
            return fd >= 0 ? fd : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    public static int close(int fd) {
        MemorySegment errno = CallState.errno();
        try {
            int result = (int) CLOSE.invokeExact(errno, fd);
            return result >= 0 ? result : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    /** Reads up to {@code length} bytes to the start of the buffer. */
    public static long read(int fd, MemorySegment buffer, long length) {
        MemorySegment errno = CallState.errno();
        try {
            long n = (long) READ.invokeExact(errno, fd, buffer, length);
            return n >= 0 ? n : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    public static long write(int fd, MemorySegment buffer, long length) {
        MemorySegment errno = CallState.errno();
        try {
            long n = (long) WRITE.invokeExact(errno, fd, buffer, length);
            return n >= 0 ? n : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    /** Writes an array of {@code struct iovec} (address, length: 16 bytes each). */
    public static long writev(int fd, MemorySegment vectors, int count) {
        MemorySegment errno = CallState.errno();
        try {
            long n = (long) WRITEV.invokeExact(errno, fd, vectors, count);
            return n >= 0 ? n : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    public static int ioctl(int fd, long request, MemorySegment argument) {
        MemorySegment errno = CallState.errno();
        try {
            int result = (int) IOCTL.invokeExact(errno, fd, request, argument);
            return result >= 0 ? result : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    public static int effectiveUid() {
        try {
            return (int) GETEUID.invokeExact(CallState.errno());
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    public static int effectiveGid() {
        try {
            return (int) GETEGID.invokeExact(CallState.errno());
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }
}
