package io.cairn.fuse.libc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Runs a program that hands a file descriptor back over a socket (SCM_RIGHTS), as fusermount3 does.
 * ProcessBuilder cannot: it closes every descriptor above 2 in the child. Any thread; blocks until
 * the program ends.
 */
public final class DescriptorChild {
    /** The descriptor number the child finds its end of the socket at. */
    private static final int CHILD_SOCKET = 3;

    private static final int AF_UNIX = 1;
    private static final int SOCK_STREAM = 1;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int SOL_SOCKET = 1;
    private static final int SCM_RIGHTS = 1;
    private static final int MSG_CMSG_CLOEXEC = 0x40000000;

    // struct msghdr on 64-bit Linux: name 0, namelen 8, iov 16, iovlen 24, control 32,
    // controllen 40, flags 48. struct cmsghdr: len 0, level 8, type 12, data 16.
    private static final long MSGHDR_BYTES = 56;
    private static final long CONTROL_BYTES = 24;

    /** Larger than glibc's and musl's posix_spawn_file_actions_t. */
    private static final long FILE_ACTIONS_BYTES = 256;

    private static final MethodHandle SOCKETPAIR =
            Libc.bind("socketpair", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);
    private static final MethodHandle PIPE2 = Libc.bind("pipe2", JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle RECVMSG =
            Libc.bind("recvmsg", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle ACTIONS_INIT =
            Libc.bind("posix_spawn_file_actions_init", JAVA_INT, ADDRESS);
    private static final MethodHandle ACTIONS_DUP2 =
            Libc.bind("posix_spawn_file_actions_adddup2", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle ACTIONS_DESTROY =
            Libc.bind("posix_spawn_file_actions_destroy", JAVA_INT, ADDRESS);
    private static final MethodHandle SPAWNP =
            Libc.bind(
                    "posix_spawnp", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle WAITPID =
            Libc.bind("waitpid", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);

    private DescriptorChild() {}

    /**
     * What came of it.
     *
     * @param descriptor the received descriptor, or -1 where none came
     * @param exitStatus of the program; -1 where it could not be started or was killed
     * @param errors what it wrote to standard error
     */
    public record Result(int descriptor, int exitStatus, String errors) {}

    /** Runs the program with {@code socketVariable} naming the socket in its environment. */
    public static Result run(List<String> command, String socketVariable) {
        try (Arena arena = Arena.ofConfined()) {
            int[] sockets = pair(arena, true);
            int[] pipe = pair(arena, false);
            int pid;
            try {
                pid = spawn(arena, command, socketVariable, sockets[1], pipe[1]);
            } finally {
                Libc.close(sockets[1]);
                Libc.close(pipe[1]);
            }
            try {
                if (pid < 0) {
                    return new Result(-1, -1, LinuxError.describe(-pid));
                }
                int descriptor = receive(arena, sockets[0]);
                String errors = drain(arena, pipe[0]);
                return new Result(descriptor, waitFor(arena, pid), errors);
            } finally {
                Libc.close(sockets[0]);
                Libc.close(pipe[0]);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw CallState.unexpected(e);
        }
    }

    private static int[] pair(Arena arena, boolean socket) throws Throwable {
        MemorySegment two = arena.allocate(8, 4);
        MemorySegment errno = CallState.errno();
        int result =
                socket
                        ? (int)
                                SOCKETPAIR.invokeExact(
                                        errno, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two)
                        : (int) PIPE2.invokeExact(errno, two, Libc.O_CLOEXEC);
        if (result < 0) {
            throw new IllegalStateException(
                    "no descriptors: " + LinuxError.describe(-CallState.failed(errno)));
        }
        return new int[] {two.get(JAVA_INT, 0), two.get(JAVA_INT, 4)};
    }

    private static int spawn(
            Arena arena, List<String> command, String socketVariable, int socket, int errors)
            throws Throwable {
        MemorySegment errno = CallState.errno();
        MemorySegment actions = arena.allocate(FILE_ACTIONS_BYTES, 16);
        int done = (int) ACTIONS_INIT.invokeExact(errno, actions);
        // In this order: 2 and 3 could be the very numbers of the parent's ends otherwise.
        int moved = done == 0 ? (int) ACTIONS_DUP2.invokeExact(errno, actions, errors, 2) : done;
        int set =
                moved == 0
                        ? (int) ACTIONS_DUP2.invokeExact(errno, actions, socket, CHILD_SOCKET)
                        : moved;
        if (set != 0) {
            return -set;
        }
        MemorySegment pid = arena.allocate(JAVA_INT);
        int result =
                (int)
                        SPAWNP.invokeExact(
                                errno,
                                pid,
                                arena.allocateFrom(command.getFirst()),
                                actions,
                                MemorySegment.NULL,
                                strings(arena, command),
                                strings(arena, environment(socketVariable)));
        int destroyed = (int) ACTIONS_DESTROY.invokeExact(errno, actions);
        assert destroyed == 0;
        return result == 0 ? pid.get(JAVA_INT, 0) : -result;
    }

    private static List<String> environment(String socketVariable) {
        List<String> environment = new java.util.ArrayList<>();
        for (Map.Entry<String, String> e : System.getenv().entrySet()) {
            if (!e.getKey().equals(socketVariable)) {
                environment.add(e.getKey() + "=" + e.getValue());
            }
        }
        environment.add(socketVariable + "=" + CHILD_SOCKET);
        return environment;
    }

    private static MemorySegment strings(Arena arena, List<String> values) {
        MemorySegment array = arena.allocate(ADDRESS, values.size() + 1L);
        for (int i = 0; i < values.size(); i++) {
            array.setAtIndex(ADDRESS, i, arena.allocateFrom(values.get(i)));
        }
        return array;
    }

    /** The descriptor sent, or -1 at end of file. */
    private static int receive(Arena arena, int socket) throws Throwable {
        MemorySegment message = arena.allocate(MSGHDR_BYTES, 8);
        MemorySegment vector = arena.allocate(16, 8);
        MemorySegment control = arena.allocate(CONTROL_BYTES, 8);
        vector.set(ADDRESS, 0, arena.allocate(1));
        vector.set(JAVA_LONG, 8, 1);
        message.set(ADDRESS, 16, vector);
        message.set(JAVA_LONG, 24, 1);
        message.set(ADDRESS, 32, control);
        message.set(JAVA_LONG, 40, CONTROL_BYTES);
        MemorySegment errno = CallState.errno();
        long n;
        do {
            n = (long) RECVMSG.invokeExact(errno, socket, message, MSG_CMSG_CLOEXEC);
        } while (n < 0 && CallState.failed(errno) == -LinuxError.EINTR);
        boolean rights =
                n > 0
                        && message.get(JAVA_LONG, 40) >= 20
                        && control.get(JAVA_INT, 8) == SOL_SOCKET
                        && control.get(JAVA_INT, 12) == SCM_RIGHTS;
        return rights ? control.get(JAVA_INT, 16) : -1;
    }

    private static String drain(Arena arena, int pipe) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        MemorySegment buffer = arena.allocate(1024);
        while (true) {
            long n = Libc.read(pipe, buffer, buffer.byteSize());
            if (n > 0) {
                text.writeBytes(buffer.asSlice(0, n).toArray(JAVA_BYTE));
            } else if (n != -LinuxError.EINTR) {
                return text.toString(StandardCharsets.UTF_8).strip();
            }
        }
    }

    private static int waitFor(Arena arena, int pid) throws Throwable {
        MemorySegment status = arena.allocate(JAVA_INT);
        MemorySegment errno = CallState.errno();
        int result;
        do {
            result = (int) WAITPID.invokeExact(errno, pid, status, 0);
        } while (result < 0 && CallState.failed(errno) == -LinuxError.EINTR);
        int word = status.get(JAVA_INT, 0);
        boolean exited = result == pid && (word & 0x7f) == 0;
        return exited ? (word >> 8) & 0xff : -1;
    }
}
