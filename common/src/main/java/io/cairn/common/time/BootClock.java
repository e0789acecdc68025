package io.cairn.common.time;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * CLOCK_BOOTTIME: goes on while the machine is suspended, unlike {@link System#nanoTime()}, and
 * never jumps, unlike the wall clock. What leases are measured with: a holder that slept must find
 * its lease expired. Off Linux {@code nanoTime} stands in. Allocates nothing per call. Any thread.
 */
public final class BootClock implements NanoClock {
    public static final BootClock INSTANCE = new BootClock();

    private static final Logger LOG = LoggerFactory.getLogger(BootClock.class);

    /** From linux/time.h. */
    private static final int CLOCK_BOOTTIME = 7;

    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final @Nullable MethodHandle CLOCK_GETTIME = clockGettime();
    private static final ThreadLocal<Timespec> TIMESPEC = ThreadLocal.withInitial(Timespec::new);

    private BootClock() {}

    /** struct timespec of a 64-bit Linux, on the Java heap. */
    private static final class Timespec {
        final long[] fields = new long[2];
        final MemorySegment segment = MemorySegment.ofArray(fields);
    }

    private static @Nullable MethodHandle clockGettime() {
        if (!System.getProperty("os.name", "").toLowerCase(Locale.ROOT).contains("linux")) {
            return null;
        }
        Linker linker = Linker.nativeLinker();
        // Critical: it returns at once (vDSO), and may write into the Java heap.
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("clock_gettime"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS),
                Linker.Option.critical(true));
    }

    @Override
    public long nanos() {
        MethodHandle clockGettime = CLOCK_GETTIME;
        if (clockGettime == null) {
            return System.nanoTime();
        }
        Timespec time = TIMESPEC.get();
        try {
            int result = (int) clockGettime.invokeExact(CLOCK_BOOTTIME, time.segment);
            if (result != 0) {
                throw new IllegalStateException("clock_gettime(CLOCK_BOOTTIME) failed");
            }
        } catch (Throwable e) {
            LOG.error("No boot clock", e);
            throw new IllegalStateException("clock_gettime(CLOCK_BOOTTIME) failed", e);
        }
        return time.fields[0] * NANOS_PER_SECOND + time.fields[1];
    }
}
