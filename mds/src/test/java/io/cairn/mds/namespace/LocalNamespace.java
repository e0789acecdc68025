package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
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

/** The machine's own file system below a directory, by system calls that say their errno. */
final class LocalNamespace {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout ERRNO_STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO =
            ERRNO_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final int AT_FDCWD = -100;
    private static final int AT_SYMLINK_NOFOLLOW = 0x100;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private final MethodHandle mkdir = call("mkdir", ValueLayout.ADDRESS, INT);
    private final MethodHandle mknod = call("mknod", ValueLayout.ADDRESS, INT, LONG);
    private final MethodHandle symlink = call("symlink", ValueLayout.ADDRESS, ValueLayout.ADDRESS);
    private final MethodHandle link = call("link", ValueLayout.ADDRESS, ValueLayout.ADDRESS);
    private final MethodHandle unlink = call("unlink", ValueLayout.ADDRESS);
    private final MethodHandle rmdir = call("rmdir", ValueLayout.ADDRESS);
    private final MethodHandle renameat2 =
            call("renameat2", INT, ValueLayout.ADDRESS, INT, ValueLayout.ADDRESS, INT);
    private final MethodHandle fchmodat = call("fchmodat", INT, ValueLayout.ADDRESS, INT, INT);
    private final MethodHandle lchown = call("lchown", ValueLayout.ADDRESS, INT, INT);
    private final MethodHandle truncate = call("truncate", ValueLayout.ADDRESS, LONG);
    private final MethodHandle lsetxattr =
            call(
                    "lsetxattr",
                    ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS,
                    LONG,
                    INT);
    private final MethodHandle lremovexattr =
            call("lremovexattr", ValueLayout.ADDRESS, ValueLayout.ADDRESS);
    private final MethodHandle umask = call("umask", INT);

    private final Path root;

    LocalNamespace(Path root) {
        this.root = root;
        run(umask, 0);
    }

    private static MethodHandle call(String name, MemoryLayout... arguments) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(INT, arguments),
                Linker.Option.captureCallState("errno"));
    }

    private Errno run(MethodHandle function, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(ERRNO_STATE);
            Object[] all = new Object[arguments.length + 1];
            all[0] = state;
            for (int i = 0; i < arguments.length; i++) {
                all[i + 1] =
                        arguments[i] instanceof String text
                                ? arena.allocateFrom(text)
                                : arguments[i];
            }
            int result = (int) function.invokeWithArguments(all);
            return result >= 0 ? Errno.OK : Errno.of((int) ERRNO.get(state, 0L));
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    String path(String inside) {
        return root + inside;
    }

    Errno mkdir(String path, int mode) {
        return run(mkdir, path(path), mode);
    }

    Errno mknod(String path, int mode, int rdev) {
        return run(mknod, path(path), mode, (long) rdev);
    }

    Errno symlink(String target, String path) {
        return run(symlink, target, path(path));
    }

    Errno link(String from, String to) {
        return run(link, path(from), path(to));
    }

    Errno unlink(String path) {
        return run(unlink, path(path));
    }

    Errno rmdir(String path) {
        return run(rmdir, path(path));
    }

    Errno rename(String from, String to, int flags) {
        return run(renameat2, AT_FDCWD, path(from), AT_FDCWD, path(to), flags);
    }

    Errno chmod(String path, int mode) {
        return run(fchmodat, AT_FDCWD, path(path), mode, AT_SYMLINK_NOFOLLOW);
    }

    Errno chown(String path, int uid, int gid) {
        return run(lchown, path(path), uid, gid);
    }

    Errno truncate(String path, long size) {
        return run(truncate, path(path), size);
    }

    Errno setXattr(String path, String name, String value, int flags) {
        return run(lsetxattr, path(path), name, value, (long) value.length(), flags);
    }

    Errno removeXattr(String path, String name) {
        return run(lremovexattr, path(path), name);
    }
}
