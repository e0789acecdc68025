package io.cairn.fuse.op;

import io.cairn.client.api.ContentHolder;
import io.cairn.common.proto.Attr;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel was last told of a regular file's attributes, and as of which change of the file
 * the pages are that it caches. Any thread.
 *
 * <p>Close-to-open consistency rests on it: on OPEN, pages are dropped that another client may have
 * changed the file since, and attributes the kernel holds are invalidated where they differ from
 * the present ones. Between opens the kernel drops pages when it sees the size change; a change of
 * mtime alone does not make it (AUTO_INVAL_DATA would, but also for every write of this very
 * machine, and with one GETATTR before each cached read).
 *
 * <p><b>Pages</b> are of a change, as {@code change} in the attributes counts, if what all clients
 * had published by then is in them. Two facts make them valid for attributes: a handle that was
 * opened at some change, with older pages dropped, has read or written through the cache; and each
 * change from there to the attributes was made by this client. What it writes through the cache is
 * in the pages, and for what it writes otherwise, or fails to write, the pages {@link #broken end}.
 * Both facts stay true whatever comes later and in whatever order they are heard of; so neither has
 * to be taken back when another client has changed the file.
 *
 * <p>Direct-mapped tables of fixed size instead of an entry per inode the kernel knows: what is
 * overwritten costs one invalidation too many, never a stale page.
 */
public final class KernelCache implements ContentHolder {
    private static final int SLOTS = 1 << 16;

    private record Version(long inode, long change, long size, long mtimeSeconds, int mtimeNanos) {}

    /** The end of an append, as the kernel counts, and what it had been told before. */
    private record AppendEnd(long inode, long end, @Nullable Version told) {}

    /**
     * @param era of the slot, in which alone this is true
     */
    private record Pages(long inode, long change, long era) {}

    /** All changes of the inode after the one, up to the other, were made by this client. */
    private record OwnChanges(long inode, long from, long to) {
        boolean touches(OwnChanges other) {
            return inode == other.inode && atMost(from, other.to) && atMost(other.from, to);
        }
    }

    private final AtomicReferenceArray<@Nullable AppendEnd> appended =
            new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Version> told = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Pages> pages = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable OwnChanges> own =
            new AtomicReferenceArray<>(SLOTS);

    /** How often pages of the slot have ended. */
    private final AtomicLongArray eras = new AtomicLongArray(SLOTS);

    // ---- attributes

    /** The attributes go to the kernel in an answer. */
    void told(Attr attr) {
        told.set(slot(attr), version(attr));
    }

    /** Whether the kernel, if it has attributes of this inode at all, has these. */
    boolean knows(Attr attr) {
        return version(attr).equals(told.get(slot(attr)));
    }

    // ---- pages

    /** To be asked before it is decided whether pages stay, for {@link #pagesRead}. */
    long era(long inode) {
        return eras.get(slot(inode));
    }

    /**
     * Pages are read or written under these attributes, for which older ones were dropped. Of a
     * file that is opened not at OPEN itself: the kernel drops old pages only after it got the
     * answer, and a second OPEN in between must not keep them.
     *
     * @param era when it was decided to drop them
     */
    void pagesRead(Attr under, long era) {
        pages.accumulateAndGet(
                slot(under),
                new Pages(under.getInode(), under.getChange(), era),
                KernelCache::newer);
    }

    /** What was read later of the same file has not made the pages older. */
    private static Pages newer(@Nullable Pages known, Pages read) {
        if (known == null || known.inode != read.inode || known.era < read.era) {
            return read;
        }
        return known.era > read.era || atMost(read.change, known.change) ? known : read;
    }

    /**
     * Whether all pages the kernel may have of this inode are of the file with these attributes.
     */
    boolean pagesAreOf(Attr attr) {
        int slot = slot(attr);
        Pages known = pages.get(slot);
        if (known == null || known.inode != attr.getInode() || known.era != eras.get(slot)) {
            return false;
        }
        if (atMost(attr.getChange(), known.change)) {
            return true;
        }
        OwnChanges since = own.get(slot);
        return since != null
                && since.inode == known.inode
                && atMost(since.from, known.change)
                && atMost(attr.getChange(), since.to);
    }

    /**
     * The file is, or may have been, changed in another way than through its pages. Once before
     * that, so that no file opened meanwhile keeps pages, and once when it is over, for the pages
     * that were read meanwhile.
     */
    void broken(long inode) {
        eras.incrementAndGet(slot(inode));
    }

    @Override
    public void changedHere(long inode, long from, long to) {
        own.accumulateAndGet(slot(inode), new OwnChanges(inode, from, to), KernelCache::joined);
    }

    /** Answers may be heard of in any order; a gap stays one. */
    private static OwnChanges joined(@Nullable OwnChanges known, OwnChanges more) {
        if (known == null || known.inode != more.inode) {
            return more;
        }
        if (known.touches(more)) {
            return new OwnChanges(
                    more.inode,
                    atMost(known.from, more.from) ? known.from : more.from,
                    atMost(known.to, more.to) ? more.to : known.to);
        }
        return atMost(known.to, more.to) ? more : known;
    }

    @Override
    public void changedUnseen(long inode) {
        broken(inode);
    }

    private static boolean atMost(long change, long other) {
        return Long.compareUnsigned(change, other) <= 0;
    }

    // ---- appends

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
        for (int slot = 0; slot < SLOTS; slot++) {
            eras.incrementAndGet(slot);
            Pages read = pages.getAndSet(slot, null);
            Version version = told.getAndSet(slot, null);
            if (version != null) {
                dropPages.accept(version.inode);
            }
            if (read != null) {
                dropPages.accept(read.inode);
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
