package io.cairn.fuse.session;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;

/** What /proc says about threads that made requests, and about their processes. Any thread. */
public final class CallingProcess {
    /** Signals that do nothing, or only stop, where they are not handled; bit number - 1. */
    private static final long HARMLESS =
            bit(17) | bit(18) | bit(19) | bit(20) | bit(21) | bit(22) | bit(23) | bit(28);

    /** Flags of a task, as of the kernel's sched.h. */
    private static final long PF_EXITING = 0x4;

    private static final long PF_SIGNALED = 0x400;

    /** Commands of fcntl(2); the 64s are those of programs of 32 bits. */
    private static final Set<Long> LOCKS_OF_PROCESS =
            Set.of(6L, 7L, 13L, 14L); // F_SETLK, F_SETLKW, F_SETLK64, F_SETLKW64

    private static final long F_OFD_SETLKW = 38;
    private static final long UNKNOWN = -1;

    private CallingProcess() {}

    /** The process a thread belongs to; 0 where that is not known, as of one that has ended. */
    public static int of(int threadId) {
        try {
            return threadId <= 0 ? 0 : (int) number(read(threadId, "status"), "Tgid:", 10);
        } catch (IOException | RuntimeException unreadable) {
            return 0;
        }
    }

    /**
     * Whether the thread waits in fcntl(2) for a lock of its open file, not of its process; false
     * where that cannot be known.
     */
    public static boolean waitsForLockOfOpenFile(int threadId) {
        return fcntlCommand(threadId) == F_OFD_SETLKW;
    }

    /**
     * Whether the thread is in fcntl(2) to lock for its process, not for its open file, and may
     * wait or not; false where that cannot be known.
     */
    public static boolean locksForItsProcess(int threadId) {
        return LOCKS_OF_PROCESS.contains(fcntlCommand(threadId));
    }

    private static long fcntlCommand(int threadId) {
        try {
            return threadId <= 0 ? UNKNOWN : secondArgument(read(threadId, "syscall"));
        } catch (IOException | RuntimeException unreadable) {
            return UNKNOWN;
        }
    }

    /** Of a system call, whose number comes first; -1 where the thread is in none. */
    static long secondArgument(String call) {
        String[] fields = call.split(" ", 4);
        return fields.length == 4 ? Long.decode(fields[2]) : UNKNOWN;
    }

    /** Whether every thread of the process is exiting: nobody is left to see a result. */
    public static boolean leaving(int process) {
        return allThreads(process, PF_EXITING);
    }

    /**
     * Whether a process that leaves does so because a signal ended it. Where one of its threads
     * called exit(3), the others are ended by a signal, but not that one.
     */
    public static boolean killed(int process) {
        return allThreads(process, PF_SIGNALED);
    }

    private static boolean allThreads(int process, long flag) {
        if (process <= 0) {
            return false;
        }
        try (DirectoryStream<Path> threads =
                Files.newDirectoryStream(Path.of("/proc", Integer.toString(process), "task"))) {
            for (Path thread : threads) {
                if (!has(flag, Files.readString(thread.resolve("stat"), ISO_8859_1))) {
                    return false;
                }
            }
            return true;
        } catch (IOException | RuntimeException goneOrUnreadable) {
            return false; // where a thread ended just now, the next look tells
        }
    }

    /** Whether the thread is exiting, or has a signal pending that will end it. */
    public static boolean dying(int threadId) {
        if (threadId <= 0) {
            return false;
        }
        try {
            return fatalPending(read(threadId, "status")) || exiting(read(threadId, "stat"));
        } catch (NoSuchFileException gone) {
            return true;
        } catch (IOException | RuntimeException unreadable) {
            return false;
        }
    }

    private static String read(int threadId, String file) throws IOException {
        Path path = Path.of("/proc", Integer.toString(threadId), file);
        return Files.readString(path, ISO_8859_1);
    }

    static boolean fatalPending(String status) {
        long pending = mask(status, "SigPnd:") | mask(status, "ShdPnd:");
        long survived =
                mask(status, "SigBlk:")
                        | mask(status, "SigIgn:")
                        | mask(status, "SigCgt:")
                        | HARMLESS;
        return (pending & ~survived) != 0;
    }

    static boolean exiting(String stat) {
        return has(PF_EXITING, stat);
    }

    /** Field 9 of stat: the kernel's flags of the task; the name in field 2 may hold anything. */
    private static boolean has(long flag, String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 8);
        return (Long.parseLong(fields[6]) & flag) != 0;
    }

    private static long mask(String status, String key) {
        return number(status, key, 16);
    }

    private static long number(String status, String key, int radix) {
        int at = status.indexOf("\n" + key);
        int start = at + 1 + key.length();
        int end = status.indexOf('\n', start);
        return at < 0 ? 0 : Long.parseUnsignedLong(status.substring(start, end).strip(), radix);
    }

    private static long bit(int signal) {
        return 1L << (signal - 1);
    }
}
