package io.cairn.common.libc;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * The space that a file system keeps for ranges of a file, by fallocate(2) itself: the C library's
 * posix_fallocate writes to the file where the file system cannot do it. The size of the file
 * stays. Stateless, any thread.
 */
public final class FileSpace {
    private static final int O_RDWR_CLOEXEC = 0x80002;
    private static final int FALLOC_FL_KEEP_SIZE = 1;
    private static final int FALLOC_FL_PUNCH_HOLE = 2;

    private static final int AT_FDCWD = -100;
    private static final int STATX_BLOCKS = 0x400;
    private static final long STATX_BYTES = 256;
    private static final long STX_BLOCKS_OFFSET = 48;

    /** Of stx_blocks, whatever the file system's own blocks are. */
    private static final int BLOCK_BYTES = 512;

    private static final int EINTR = 4;
    private static final int ENODEV = 19;
    private static final int ENOSPC = 28;
    private static final int ENOSYS = 38;
    private static final int EOPNOTSUPP = 95;
    private static final int EDQUOT = 122;

    /** How an attempt ended. */
    public enum Outcome {
        DONE,
        /** The file system, or what its user may take of it, is full. */
        NO_SPACE,
        /** The file system cannot do this. */
        UNSUPPORTED
    }

    private FileSpace() {}

    /**
     * Keeps space for a range, which reads as before. After {@link Outcome#NO_SPACE} a part of the
     * range may have it all the same.
     *
     * @throws IOException naming the file, for any other reason
     */
    public static Outcome reserve(Path path, long position, long bytes) throws IOException {
        return fallocate(path, FALLOC_FL_KEEP_SIZE, position, bytes);
    }

    /** The range reads as zeros from now on, and its space is the file system's again. */
    public static Outcome punch(Path path, long position, long bytes) throws IOException {
        return fallocate(path, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, position, bytes);
    }

    /** Space that the file has now, written or only kept, with what its block map takes. */
    public static long allocatedBytes(Path path) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Descriptors.STATE);
            MemorySegment found = arena.allocate(STATX_BYTES, Long.BYTES);
            int failed =
                    (int)
                            Calls.STATX.invokeExact(
                                    state,
                                    AT_FDCWD,
                                    arena.allocateFrom(path.toString()),
                                    0,
                                    STATX_BLOCKS,
                                    found);
            if (failed != 0) {
                throw new IOException(
                        "statx of " + path + " failed: errno " + Descriptors.errno(state));
            }
            return found.get(ValueLayout.JAVA_LONG, STX_BLOCKS_OFFSET) * BLOCK_BYTES;
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static Outcome fallocate(Path path, int mode, long position, long bytes)
            throws IOException {
        return Descriptors.withOpen(
                path,
                O_RDWR_CLOEXEC,
                "to change what space it has",
                (fd, arena) ->
                        outcome(
                                path,
                                mode,
                                position,
                                bytes,
                                fd,
                                arena.allocate(Descriptors.STATE)));
    }

    private static Outcome outcome(
            Path path, int mode, long position, long bytes, int fd, MemorySegment state)
            throws Throwable {
        while ((int) Calls.FALLOCATE.invokeExact(state, fd, mode, position, bytes) != 0) {
            int errno = Descriptors.errno(state);
            switch (errno) {
                case EINTR -> {
                    // once more
                }
                case ENOSPC, EDQUOT -> {
                    return Outcome.NO_SPACE;
                }
                case EOPNOTSUPP, ENOSYS, ENODEV -> {
                    return Outcome.UNSUPPORTED;
                }
                default ->
                        throw new IOException(
                                "fallocate of %d bytes at %d of %s failed: errno %d"
                                        .formatted(bytes, position, path, errno));
            }
        }
        return Outcome.DONE;
    }

    /** Looked up when they are first needed. */
    private static final class Calls {
        private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
        private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

        static final MethodHandle STATX =
                Descriptors.call(
                        "statx",
                        FunctionDescriptor.of(
                                INT, INT, ValueLayout.ADDRESS, INT, INT, ValueLayout.ADDRESS),
                        Descriptors.SETS_ERRNO);
        static final MethodHandle FALLOCATE =
                Descriptors.call(
                        "fallocate",
                        FunctionDescriptor.of(INT, INT, INT, LONG, LONG),
                        Descriptors.SETS_ERRNO);
    }
}
