package io.cairn.fuse.session;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.cairn.fuse.libc.Libc;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One descriptor of /dev/fuse. A request must be answered on the descriptor it was read from. Any
 * thread may write; the descriptor number is given back to the system only when no write is under
 * way, so that a late answer can never go into a file that was opened since.
 */
public final class FuseDevice implements AutoCloseable {
    /** _IOR(229, 0, uint32_t). */
    private static final long FUSE_DEV_IOC_CLONE = 0x8004e500L;

    private final int descriptor;

    /** Writers that have begun and not ended, plus one until {@link #close}. 0: closed for good. */
    private final AtomicInteger users = new AtomicInteger(1);

    public FuseDevice(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * A second queue to the same mount, or this one again where /dev/fuse may not be opened here
     * (an unprivileged mount got its descriptor from fusermount3).
     */
    FuseDevice cloneOrShare() {
        int fresh = Libc.open("/dev/fuse", Libc.O_RDWR | Libc.O_CLOEXEC);
        if (fresh < 0) {
            return this;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment of = arena.allocateFrom(JAVA_INT, descriptor);
            if (Libc.ioctl(fresh, FUSE_DEV_IOC_CLONE, of) < 0) {
                Libc.close(fresh);
                return this;
            }
            return new FuseDevice(fresh);
        }
    }

    /** Waits for a request. The number of bytes, or the negative error number. */
    long read(MemorySegment buffer, long length) {
        return Libc.read(descriptor, buffer, length);
    }

    /** The number of bytes, or the negative error number; ENODEV once closed. */
    long write(MemorySegment message, long length) {
        if (!acquire()) {
            return -LinuxError.ENODEV;
        }
        try {
            return Libc.write(descriptor, message, length);
        } finally {
            release();
        }
    }

    /** As {@link #write}, from several pieces of memory. */
    long writev(MemorySegment vectors, int count) {
        if (!acquire()) {
            return -LinuxError.ENODEV;
        }
        try {
            return Libc.writev(descriptor, vectors, count);
        } finally {
            release();
        }
    }

    private boolean acquire() {
        int now = users.get();
        while (now > 0) {
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
            now = users.get();
        }
        return false;
    }

    private void release() {
        if (users.decrementAndGet() == 0) {
            Libc.close(descriptor);
        }
    }

    /** Once, by whoever made it, when no reader uses it any more. */
    @Override
    public void close() {
        release();
    }
}
