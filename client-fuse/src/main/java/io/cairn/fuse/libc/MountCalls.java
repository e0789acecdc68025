package io.cairn.fuse.libc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** mount(2) and umount2(2). Any thread; both may block on the file system concerned. */
public final class MountCalls {
    public static final long MS_RDONLY = 1;
    public static final long MS_NOSUID = 2;
    public static final long MS_NODEV = 4;
    public static final long MS_NOEXEC = 8;
    public static final long MS_SYNCHRONOUS = 16;
    public static final long MS_REMOUNT = 32;
    public static final long MS_DIRSYNC = 128;
    public static final long MS_NOATIME = 1024;
    public static final long MS_NODIRATIME = 2048;
    public static final long MS_RELATIME = 1L << 21;
    public static final long MS_STRICTATIME = 1L << 24;
    public static final long MS_LAZYTIME = 1L << 25;
    public static final int MNT_DETACH = 2;

    private static final MethodHandle MOUNT =
            Libc.bind("mount", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle UMOUNT2 = Libc.bind("umount2", JAVA_INT, ADDRESS, JAVA_INT);

    private MountCalls() {}

    /** Returns 0 or the negative error number. */
    public static int mount(String source, String target, String type, long flags, String data) {
        MemorySegment errno = CallState.errno();
        try (Arena arena = Arena.ofConfined()) {
            int result =
                    (int)
                            MOUNT.invokeExact(
                                    errno,
                                    arena.allocateFrom(source),
                                    arena.allocateFrom(target),
                                    arena.allocateFrom(type),
                                    flags,
                                    arena.allocateFrom(data));
            return result >= 0 ? result : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    /** Returns 0 or the negative error number. */
    public static int umount2(String target, int flags) {
        MemorySegment errno = CallState.errno();
        try (Arena arena = Arena.ofConfined()) {
            int result = (int) UMOUNT2.invokeExact(errno, arena.allocateFrom(target), flags);
            return result >= 0 ? result : CallState.failed(errno);
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }
}
