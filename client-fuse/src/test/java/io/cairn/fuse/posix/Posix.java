package io.cairn.fuse.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * libc by name. Arguments are Integer, Long, MemorySegment, or byte[] and String (C strings); the
 * result is what the call returned, or the negative error number. A thread inside a call does not
 * hold up the garbage collector, so a test may use the mount that its own process serves.
 */
public final class Posix {
    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_RDWR = 2;
    public static final int O_CREAT = 0100;
    public static final int O_EXCL = 0200;
    public static final int O_TRUNC = 01000;
    public static final int O_APPEND = 02000;
    public static final int O_DSYNC = 010000;
    public static final int O_DIRECT =
            System.getProperty("os.arch").equals("aarch64") ? 0200000 : 040000;
    public static final int AT_FDCWD = -100;

    /** MAX_HANDLE_SZ. */
    private static final int HANDLE_BYTES = 128;

    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    private static final int AT_EMPTY_PATH = 0x1000;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final long ERRNO =
            Linker.Option.captureStateLayout().byteOffset(PathElement.groupElement("errno"));
    private static final Map<String, MethodHandle> HANDLES = new ConcurrentHashMap<>();

    private Posix() {}

    /** A call that returns an int. */
    public static int call(String function, Object... arguments) {
        return (int) invoke(function, JAVA_INT, arguments);
    }

    /** A call that returns a ssize_t. */
    public static long callLong(String function, Object... arguments) {
        return invoke(function, JAVA_LONG, arguments);
    }

    private static long invoke(String function, MemoryLayout result, Object[] arguments) {
        MemoryLayout[] layouts = new MemoryLayout[arguments.length];
        try (Arena arena = Arena.ofConfined()) {
            List<Object> values = new ArrayList<>();
            MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
            values.add(state);
            for (int i = 0; i < arguments.length; i++) {
                Object a = arguments[i];
                Object value =
                        switch (a) {
                            case byte[] bytes -> string(arena, bytes);
                            case String text ->
                                    string(arena, text.getBytes(StandardCharsets.UTF_8));
                            default -> a;
                        };
                layouts[i] =
                        switch (value) {
                            case Integer n -> JAVA_INT;
                            case Long n -> JAVA_LONG;
                            default -> ADDRESS;
                        };
                values.add(value);
            }
            String id = function + List.of(layouts) + result;
            MethodHandle handle =
                    HANDLES.computeIfAbsent(
                            id,
                            name ->
                                    LINKER.downcallHandle(
                                            LINKER.defaultLookup().findOrThrow(function),
                                            FunctionDescriptor.of(result, layouts),
                                            Linker.Option.captureCallState("errno")));
            long value = ((Number) handle.invokeWithArguments(values)).longValue();
            return value == -1 ? -state.get(JAVA_INT, ERRNO) : value;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MemorySegment string(Arena arena, byte[] bytes) {
        MemorySegment s = arena.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, s, JAVA_BYTE, 0, bytes.length);
        return s;
    }

    public static int open(byte[] path, int flags, int mode) {
        return call("open", path, flags, mode);
    }

    /** The file handle of a path, as name_to_handle_at(2) gives it; fails the test without one. */
    static byte[] handle(byte[] path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(8 + HANDLE_BYTES, 4);
            handle.set(JAVA_INT, 0, HANDLE_BYTES);
            int result =
                    call("name_to_handle_at", AT_FDCWD, path, handle, arena.allocate(JAVA_INT), 0);
            if (result != 0) {
                throw new AssertionError("no file handle: error " + result);
            }
            return handle.toArray(JAVA_BYTE);
        }
    }

    /**
     * As open_by_handle_at(2).
     *
     * @param mount open, of the file system
     */
    static int open(int mount, byte[] handle, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment in = arena.allocate(handle.length, 4);
            MemorySegment.copy(handle, 0, in, JAVA_BYTE, 0, handle.length);
            return call("open_by_handle_at", mount, in, flags);
        }
    }

    public static int close(int fd) {
        return call("close", fd);
    }

    public static long pwrite(int fd, byte[] data, long offset) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.max(1, data.length), 4096);
            MemorySegment.copy(data, 0, buffer, JAVA_BYTE, 0, data.length);
            return callLong("pwrite", fd, buffer, (long) data.length, offset);
        }
    }

    /** As write(2): at the descriptor's position, or the end with O_APPEND. */
    public static long write(int fd, byte[] data) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.max(1, data.length), 4096);
            MemorySegment.copy(data, 0, buffer, JAVA_BYTE, 0, data.length);
            return callLong("write", fd, buffer, (long) data.length);
        }
    }

    public static Outcome pread(int fd, int length, long offset) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.max(1, length), 4096);
            return bytes(callLong("pread", fd, buffer, (long) length, offset), buffer);
        }
    }

    public static Outcome readlink(byte[] path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(4096);
            return bytes(callLong("readlink", path, buffer, 4096L), buffer);
        }
    }

    public static Outcome getxattr(byte[] path, String name, int size) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.max(1, size));
            long n = callLong("lgetxattr", path, name, buffer, (long) size);
            return size == 0 ? new Outcome(n, new byte[0]) : bytes(n, buffer);
        }
    }

    public static int setxattr(byte[] path, String name, byte[] value, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.max(1, value.length));
            MemorySegment.copy(value, 0, buffer, JAVA_BYTE, 0, value.length);
            return call("lsetxattr", path, name, buffer, (long) value.length, flags);
        }
    }

    public static Outcome listxattr(byte[] path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(65_536);
            return bytes(callLong("llistxattr", path, buffer, 65_536L), buffer);
        }
    }

    private static Outcome bytes(long n, MemorySegment buffer) {
        return new Outcome(n, n <= 0 ? new byte[0] : buffer.asSlice(0, n).toArray(JAVA_BYTE));
    }

    /**
     * A result and the bytes that came with it.
     *
     * @param result number of bytes, or the negative error number
     */
    public record Outcome(long result, byte[] bytes) {}

    /**
     * The part of struct statx that is compared.
     *
     * @param error 0 or the negative error number
     */
    public record Stat(
            int error,
            int mode,
            int nlink,
            int uid,
            int gid,
            long inode,
            long size,
            long blocks,
            long atimeSeconds,
            int atimeNanos,
            long mtimeSeconds,
            int mtimeNanos) {
        public boolean isDirectory() {
            return (mode & 0xf000) == 0x4000;
        }
    }

    public static Stat lstat(byte[] path) {
        return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
    }

    public static Stat fstat(int fd) {
        return statx(fd, new byte[0], AT_EMPTY_PATH);
    }

    private static Stat statx(int directory, byte[] path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(256, 8);
            int error = call("statx", directory, path, flags, 0xfff, s);
            return new Stat(
                    error,
                    Short.toUnsignedInt(s.get(JAVA_SHORT, 28)),
                    s.get(JAVA_INT, 16),
                    s.get(JAVA_INT, 20),
                    s.get(JAVA_INT, 24),
                    s.get(JAVA_LONG, 32),
                    s.get(JAVA_LONG, 40),
                    s.get(JAVA_LONG, 48),
                    s.get(JAVA_LONG, 64),
                    s.get(JAVA_INT, 72),
                    s.get(JAVA_LONG, 112),
                    s.get(JAVA_INT, 120));
        }
    }

    public static int utimens(
            byte[] path, long atimeSeconds, int atimeNanos, long mtimeSeconds, int mtimeNanos) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment times = arena.allocate(32, 8);
            times.set(JAVA_LONG, 0, atimeSeconds);
            times.set(JAVA_LONG, 8, atimeNanos);
            times.set(JAVA_LONG, 16, mtimeSeconds);
            times.set(JAVA_LONG, 24, mtimeNanos);
            return call("utimensat", AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
        }
    }

    /** All names but "." and "..", in the order of readdir; opens its own stream. */
    public static List<byte[]> list(byte[] path) {
        try (Directory directory = new Directory(path)) {
            List<byte[]> names = new ArrayList<>();
            for (byte[] name = directory.next(); name.length > 0; name = directory.next()) {
                boolean dots =
                        name[0] == '.'
                                && (name.length == 1 || (name.length == 2 && name[1] == '.'));
                if (!dots) {
                    names.add(name);
                }
            }
            return names;
        }
    }

    /** An open directory stream. */
    public static final class Directory implements AutoCloseable {
        private final MemorySegment stream;

        public Directory(byte[] path) {
            long address = callLong("opendir", path);
            if (address <= 0) {
                throw new IllegalStateException("opendir failed");
            }
            stream = MemorySegment.ofAddress(address);
        }

        /** The next name, "." and ".." included; empty at the end. */
        public byte[] next() {
            long address = callLong("readdir", stream);
            if (address <= 0) {
                return new byte[0];
            }
            MemorySegment entry = MemorySegment.ofAddress(address).reinterpret(280);
            int length = 0;
            while (entry.get(JAVA_BYTE, 19L + length) != 0) {
                length++;
            }
            return entry.asSlice(19, length).toArray(JAVA_BYTE);
        }

        @Override
        public void close() {
            call("closedir", stream);
        }
    }
}
