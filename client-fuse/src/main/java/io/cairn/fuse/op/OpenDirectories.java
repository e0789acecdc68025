package io.cairn.fuse.op;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.SetAttrOp;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The directories the kernel holds open, with the attributes it was last told. The MDS does not
 * know that they are open: it forgets a directory when it is removed, by whomever, and then these
 * attributes stand for it, without a name, until the last close. Any thread.
 */
final class OpenDirectories {
    private static final int SLOTS = 1 << 12;

    private record Open(int count, Attr attr) {}

    private final ConcurrentHashMap<Long, Open> open = new ConcurrentHashMap<>();

    /** Of directories not open: the kernel has looked a directory up before it opens it. */
    private final AtomicReferenceArray<Attr> seen = new AtomicReferenceArray<>(SLOTS);

    /** The attributes go to the kernel in an answer. */
    void told(Attr attr) {
        seen.set(slot(attr.getInode()), attr);
        open.computeIfPresent(
                attr.getInode(),
                (inode, known) -> removed(known.attr) ? known : new Open(known.count, attr));
    }

    /** What the kernel was told of the directory, if that is not long ago. */
    @Nullable Attr seen(long inode) {
        Open known = open.get(inode);
        Attr attr = known == null ? seen.get(slot(inode)) : known.attr;
        return attr != null && attr.getInode() == inode ? attr : null;
    }

    /** One more handle. */
    void opened(Attr attr) {
        open.compute(
                attr.getInode(),
                (inode, known) ->
                        known == null ? new Open(1, attr) : new Open(known.count + 1, known.attr));
    }

    void closed(long inode) {
        open.computeIfPresent(
                inode,
                (i, known) -> known.count == 1 ? null : new Open(known.count - 1, known.attr));
    }

    int handles() {
        return open.values().stream().mapToInt(Open::count).sum();
    }

    /**
     * The attributes of an open directory that the MDS has just said is gone; null for any other
     * failure, and where it is not open.
     */
    @Nullable Attr ofRemoved(long inode, Throwable failure) {
        // ESTALE would be about the session, not about the directory.
        if (!Causes.is(failure, Errno.ENOENT)) {
            return null;
        }
        Open known =
                open.computeIfPresent(
                        inode, (i, was) -> new Open(was.count, withoutName(was.attr)));
        return known == null ? null : known.attr;
    }

    /** Changes what is kept of a removed directory; null where it is not open. */
    @Nullable Attr change(SetAttrOp change) {
        Open known =
                open.computeIfPresent(
                        change.getInode(),
                        (i, was) -> new Open(was.count, changed(was.attr, change)));
        return known == null ? null : known.attr;
    }

    private static Attr changed(Attr attr, SetAttrOp change) {
        Attr.Builder now = attr.toBuilder();
        if (change.hasMode()) {
            now.setMode(Mode.type(attr.getMode()) | Mode.permissions(change.getMode()));
        }
        if (change.hasUid()) {
            now.setUid(change.getUid());
        }
        if (change.hasGid()) {
            now.setGid(change.getGid());
        }
        if (change.hasAtime()) {
            now.setAtime(change.getAtime());
        }
        if (change.hasMtime()) {
            now.setMtime(change.getMtime());
        }
        return now.build();
    }

    private static Attr withoutName(Attr attr) {
        return removed(attr) ? attr : attr.toBuilder().setNlink(0).clearAttrLeaseMicros().build();
    }

    private static boolean removed(Attr attr) {
        return attr.getNlink() == 0;
    }

    private static int slot(long inode) {
        return (int) (inode * 0x9e3779b97f4a7c15L >>> 52);
    }
}
