package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.time.Periodic;
import io.cairn.fuse.session.ProcessDescriptors;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes that the kernel does not tell of. A process loses its ranges of a file when it closes any
 * descriptor of it; FLUSH says so. Files that nobody has locked yet are opened for reading without
 * FLUSH, as it would cost each close a request. Only where such a descriptor is there when the
 * first locks of a file are taken, the process's descriptors of it are counted ten times a second.
 * From then on the file is opened with FLUSH.
 *
 * <p>Where a process closes one and gets another between two looks, the lock stays until it closes
 * the next. No lock ends that must not: locks of open files are not followed, as they outlive the
 * closes of a process; and what a close has ended is given up before the same owner, or the next
 * process with its number, locks again. Any thread; the looks are on one of their own, which may
 * wait for the mount itself.
 */
final class UnseenCloses {
    private static final Logger LOG = LoggerFactory.getLogger(UnseenCloses.class);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final ThreadFactory THREAD =
            Thread.ofPlatform().daemon().name("cairn-fuse-closes").factory();

    private record Owner(long inode, long number) {}

    private static final class Followed {
        final OpenFile file;
        final int process;

        /** Of the last look. */
        int descriptors;

        Followed(OpenFile file, int process) {
            this.file = file;
            this.process = process;
        }
    }

    private final LongSupplier device;
    private final Map<Owner, Followed> followed = new ConcurrentHashMap<>();
    private @Nullable ScheduledExecutorService looks;

    /** By the thread that looks; 0: not asked for yet. */
    private long knownDevice;

    /**
     * @param device of the mount, as of stat(2)
     */
    UnseenCloses(LongSupplier device) {
        this.device = device;
    }

    /**
     * The owner is about to lock: looks first whether it has closed a descriptor, or is another
     * process that has the number of one that has ended.
     *
     * @param then runs, briefly, once what is to be given up before is on its way
     */
    void beforeLock(long inode, long owner, int process, Runnable then) {
        Owner key = new Owner(inode, owner);
        if (!followed.containsKey(key)) {
            then.run();
            return;
        }
        onThread(
                () -> {
                    Followed one = followed.get(key);
                    if (one != null) {
                        look(key, one, process);
                    }
                },
                then);
    }

    /**
     * The process has got ranges of the file, which some descriptors are open of whose closes are
     * not told.
     *
     * @param ofProcess whether it is known that they are the process's, not the open file's; asked
     *     while the process waits for its answer
     * @param begun runs, briefly, once closes from now on will be noticed
     */
    void follow(OpenFile file, long owner, int process, BooleanSupplier ofProcess, Runnable begun) {
        Owner key = new Owner(file.inode(), owner);
        if (process <= 0 || followed.containsKey(key)) {
            begun.run();
            return;
        }
        onThread(
                () -> {
                    Followed one = new Followed(file, process);
                    one.descriptors = ofProcess.getAsBoolean() ? count(process, key) : 0;
                    if (one.descriptors > 0) { // else it cannot be seen from here
                        followed.put(key, one);
                    }
                },
                begun);
    }

    private void onThread(Runnable first, Runnable then) {
        try {
            thread().execute(() -> {
                try {
                    first.run();
                } catch (RuntimeException problem) { // who waits must get its answer
                    LOG.error("Looking for closes that the kernel does not tell of", problem);
                }
                then.run();
            });
        } catch (RejectedExecutionException unmounted) {
            then.run();
        }
    }

    private synchronized ScheduledExecutorService thread() {
        ScheduledExecutorService present = looks;
        if (present == null) {
            present = Executors.newSingleThreadScheduledExecutor(THREAD);
            looks = present;
            var _ =
                    Periodic.every(
                            present,
                            LOOK_NANOS,
                            "The search for closes that the kernel does not tell of",
                            this::look);
        }
        return present;
    }

    /** The process has closed a descriptor, as the kernel says, or has unlocked all. */
    void ended(long inode, long owner) {
        if (!followed.isEmpty()) {
            followed.remove(new Owner(inode, owner));
        }
    }

    private int count(int process, Owner owner) {
        if (knownDevice == 0) {
            knownDevice = device.getAsLong();
        }
        return knownDevice == 0 ? -1 : ProcessDescriptors.of(process, knownDevice, owner.inode());
    }

    private void look() {
        followed.forEach((owner, one) -> look(owner, one, one.process));
    }

    /**
     * @param process that has the number now, as far as is known
     */
    private void look(Owner owner, Followed one, int process) {
        int now = count(one.process, owner);
        boolean ended = now < 0 && process != one.process; // and cannot be asked about any more
        if (!ended && (now < 0 || (now > 0 && now >= one.descriptors))) {
            one.descriptors = Math.max(now, one.descriptors);
            return;
        }
        // In one step with the unlock: who does not find it locks behind that.
        followed.computeIfPresent(
                owner,
                (key, present) -> {
                    if (present != one) {
                        return present;
                    }
                    unlock(owner, one);
                    return null;
                });
    }

    private static void unlock(Owner owner, Followed one) {
        var _ =
                one.file
                        .descriptorClosed(owner.number())
                        .exceptionally(failure -> {
                            LOG.warn("unlocking what a process has closed", failure);
                            return null;
                        });
    }
}
