package io.cairn.fuse.op;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.RecalledName;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How long the kernel may believe what it is answered: what is left of the lease, or not at all
 * where the answer may be of before a change. Changes are noted, those that other clients are about
 * to make and whose leases are recalled, and those of this mount that have ended; an answer to a
 * request that was asked before the newest one is of no duration.
 *
 * <p>Between the judgement and the write to the kernel nothing is noted: {@link #answer}. So when a
 * change is noted, every answer that was judged before it has been written, and a notification to
 * the kernel comes behind it.
 *
 * <p>Tables of fixed size: what shares a slot with a change costs a lease, never shows old state.
 * Any thread.
 */
final class KernelLeases {
    private static final int SLOT_BITS = 14;

    /**
     * The kernel counts in ticks of up to 10 ms, from when it looks at the answer, and rounds up
     * twice.
     */
    private static final long MARGIN_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    /**
     * Within which the kernel has looked at an answer that was written, unless it is in trouble.
     */
    static final long YOUNG_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private final boolean held;
    private final long entryNanos;
    private final long attrNanos;
    private final LongSupplier clock;
    private final AtomicLong changes = new AtomicLong();

    /** The newest change of an inode's attributes, of a name, of all names of a directory. */
    private final AtomicLongArray inodes = new AtomicLongArray(1 << SLOT_BITS);

    private final AtomicLongArray names = new AtomicLongArray(1 << SLOT_BITS);
    private final AtomicLongArray directories = new AtomicLongArray(1 << SLOT_BITS);
    private volatile long everything;

    /** When attributes were last given that may be believed. */
    private final AtomicLongArray given = new AtomicLongArray(1 << SLOT_BITS);

    /** The same of extended attributes; what else this mount changes does not count here. */
    private final AtomicLongArray xattrs = new AtomicLongArray(1 << SLOT_BITS);

    /** Inodes without extended attributes. */
    private final AtomicReferenceArray<@Nullable Bare> bare =
            new AtomicReferenceArray<>(1 << SLOT_BITS);

    private final ReentrantReadWriteLock answers = new ReentrantReadWriteLock();

    /** When something was asked: before the question went to anybody. */
    record Asked(long changes, long nanos) {}

    /** It has no extended attributes until then, unless it has changed since this was asked. */
    private record Bare(long inode, Asked asked, long untilNanos) {}

    /**
     * @param held whether there are leases; else the timeouts are always as given
     * @param entryNanos timeout of names where there are none
     * @param attrNanos timeout of attributes, with leases the longest of both
     * @param clock as {@link System#nanoTime}
     */
    KernelLeases(boolean held, long entryNanos, long attrNanos, LongSupplier clock) {
        this.held = held;
        this.entryNanos = entryNanos;
        this.attrNanos = attrNanos;
        this.clock = clock;
        long now = clock.getAsLong();
        for (int i = 0; i < 1 << SLOT_BITS; i++) {
            given.set(i, now - YOUNG_NANOS);
        }
    }

    boolean held() {
        return held;
    }

    Asked asked() {
        return new Asked(changes.get(), clock.getAsLong());
    }

    // ---- answers

    /** Judges with the methods below and writes the answer; nothing is noted meanwhile. */
    boolean answer(BooleanSupplier judgeAndWrite) {
        if (!held) {
            return judgeAndWrite.getAsBoolean();
        }
        answers.readLock().lock();
        try {
            return judgeAndWrite.getAsBoolean();
        } finally {
            answers.readLock().unlock();
        }
    }

    /** How long these attributes may be believed. */
    long attrNanos(Asked asked, Attr attr) {
        if (!held) {
            return attrNanos;
        }
        int slot = slot(attr.getInode());
        noteIfBare(slot, asked, attr);
        long left = changed(inodes, slot, asked) ? 0 : left(asked.nanos, attr.getAttrLeaseMicros());
        if (left > 0) {
            given.set(slot, clock.getAsLong());
        }
        return left;
    }

    private void noteIfBare(int slot, Asked asked, Attr attr) {
        int lease = attr.getNoXattrs() ? attr.getAttrLeaseMicros() : attr.getNoXattrsLeaseMicros();
        long left = lease == 0 || changed(xattrs, slot, asked) ? 0 : left(asked.nanos, lease);
        if (left > 0) {
            bare.set(slot, new Bare(attr.getInode(), asked, clock.getAsLong() + left));
        }
    }

    /**
     * Whether the inode certainly has no extended attributes: attributes that might be believed
     * still, had this mount not changed them since, said so.
     */
    boolean hasNoXattrs(long inode) {
        int slot = slot(inode);
        @Nullable Bare known = bare.get(slot);
        return known != null
                && known.inode == inode
                && known.untilNanos - clock.getAsLong() > 0
                && !changed(xattrs, slot, known.asked);
    }

    /** How long the name may be believed to be, or not to be, as answered. */
    long nameNanos(Asked asked, long directory, byte[] name, int leaseMicros) {
        if (!held) {
            return entryNanos;
        }
        if (changed(names, slot(directory, name), asked)
                || changed(directories, slot(directory), asked)) {
            return 0;
        }
        return left(asked.nanos, leaseMicros);
    }

    private boolean changed(AtomicLongArray table, int slot, Asked asked) {
        return table.get(slot) > asked.changes || everything > asked.changes;
    }

    private long left(long sinceNanos, int micros) {
        long lease = TimeUnit.MICROSECONDS.toNanos(Integer.toUnsignedLong(micros));
        long left = sinceNanos + lease - MARGIN_NANOS - clock.getAsLong();
        return Math.clamp(left, 0, attrNanos);
    }

    // ---- changes

    /** Another client is about to change these. */
    void recalled(ReadRecall recall) {
        long now = changes.incrementAndGet();
        for (long inode : recall.getInodesList()) {
            note(inodes, slot(inode), now);
            note(xattrs, slot(inode), now);
        }
        for (RecalledName name : recall.getNamesList()) {
            long directory = name.getDirectory();
            if (name.getName().isEmpty()) {
                note(directories, slot(directory), now);
            } else {
                note(names, slot(directory, name.getName().toByteArray()), now);
            }
        }
        settle();
    }

    /** This mount has changed the attributes of an inode. {@link #settle} follows. */
    void changed(long inode) {
        note(inodes, slot(inode), changes.incrementAndGet());
    }

    /** This mount has changed the extended attributes of an inode. {@link #settle} follows. */
    void changedXattrs(long inode) {
        note(xattrs, slot(inode), changes.incrementAndGet());
    }

    /** This mount has changed what a name means. {@link #settle} follows. */
    void changed(long directory, byte[] name) {
        note(names, slot(directory, name), changes.incrementAndGet());
    }

    /** Nothing that was asked before counts. */
    void forgetAll() {
        everything = changes.incrementAndGet();
        settle();
    }

    private static void note(AtomicLongArray table, int slot, long change) {
        table.accumulateAndGet(slot, change, Math::max);
    }

    /** Waits until the answers that were judged before are written: microseconds. */
    void settle() {
        answers.writeLock().lock();
        answers.writeLock().unlock();
    }

    /** Whether it may be yet to look at attributes that it was given. */
    boolean isYoung(long inode) {
        return clock.getAsLong() - given.get(slot(inode)) < YOUNG_NANOS;
    }

    private static int slot(long inode) {
        return (int) (inode * 0x9e3779b97f4a7c15L >>> 64 - SLOT_BITS);
    }

    private static int slot(long directory, byte[] name) {
        return slot(directory * 31 + Arrays.hashCode(name));
    }
}
