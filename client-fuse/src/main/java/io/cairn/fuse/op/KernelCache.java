package io.cairn.fuse.op;

import io.cairn.common.proto.Attr;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel was last told of a regular file's attributes, and under which attributes the
 * pages it caches were read. Any thread.
 *
 * <p>Close-to-open consistency rests on it: on OPEN, pages read under other attributes are dropped,
 * and attributes the kernel holds are invalidated where they differ from the present ones. Between
 * opens the kernel drops pages when it sees the size change; a change of mtime alone does not make
 * it (AUTO_INVAL_DATA would, but also for every write of this very machine, and with one GETATTR
 * before each cached read).
 *
 * <p>Two direct-mapped tables of fixed size instead of an entry per inode the kernel knows: what is
 * overwritten costs one invalidation too many, never a stale page.
 */
public final class KernelCache {
    private static final int SLOTS = 1 << 16;

    private record Version(long inode, long change, long size, long mtimeSeconds, int mtimeNanos) {}

    /** The end of an append, as the kernel counts, and what it had been told before. */
    private record AppendEnd(long inode, long end, @Nullable Version told) {}

    private final AtomicReferenceArray<AppendEnd> appended = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<Version> told = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<Version> pages = new AtomicReferenceArray<>(SLOTS);

    /** The attributes go to the kernel in an answer. */
    void told(Attr attr) {
        told.set(slot(attr), version(attr));
    }

    /** Whether the kernel, if it has attributes of this inode at all, has these. */
    boolean knows(Attr attr) {
        return version(attr).equals(told.get(slot(attr)));
    }

    /**
     * A file opened under these attributes was read. Not at OPEN itself: the kernel drops old pages
     * only after it got the answer, and a second OPEN in between must not keep them.
     */
    void pagesRead(Attr whenOpened) {
        pages.set(slot(whenOpened), version(whenOpened));
    }

    /** Whether all pages the kernel may have of this inode were read under these attributes. */
    boolean pagesAreOf(Attr attr) {
        @Nullable Version read = pages.get(slot(attr));
        return read != null && version(attr).equals(read);
    }

    /** An append of the kernel was answered, which ended there as the kernel counts. */
    void appended(long inode, long end) {
        int slot = slot(inode);
        appended.set(slot, new AppendEnd(inode, end, told.get(slot)));
    }

    /**
     * What the kernel takes for the size of a file that is only appended to: what the last append
     * or, if it was later, the last answer with attributes has made it. -1 where that is not known.
     */
    long sizeInKernel(long inode) {
        int slot = slot(inode);
        @Nullable Version attr = told.get(slot);
        @Nullable AppendEnd last = appended.get(slot);
        if (last != null && last.inode == inode && last.told == attr) {
            return last.end;
        }
        return attr != null && attr.inode == inode ? attr.size : -1;
    }

    /**
     * The client was away: nothing the kernel has counts. What the kernel was told or read
     * meanwhile may be among it.
     *
     * @param dropPages given each inode once or twice of which the kernel may have something
     */
    void forget(LongConsumer dropPages) {
        for (AtomicReferenceArray<Version> table : List.of(told, pages)) {
            for (int slot = 0; slot < SLOTS; slot++) {
                @Nullable Version version = table.getAndSet(slot, null);
                if (version != null) {
                    dropPages.accept(version.inode);
                }
            }
        }
    }

    private static int slot(Attr attr) {
        return slot(attr.getInode());
    }

    private static int slot(long inode) {
        long mixed = inode * 0x9e3779b97f4a7c15L;
        return (int) (mixed >>> 48);
    }

    private static Version version(Attr attr) {
        return new Version(
                attr.getInode(),
                attr.getChange(),
                attr.getSize(),
                attr.getMtime().getSeconds(),
                attr.getMtime().getNanos());
    }
}
