package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The kernel's file handle numbers; never reused in the life of a mount. Any thread. */
final class FileHandles {
    private final ConcurrentHashMap<Long, FileHandle> handles = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, Integer> ofInode = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, Integer> quietOfInode = new ConcurrentHashMap<>();
    private final AtomicLong last = new AtomicLong();

    long add(FileHandle handle) {
        long number = last.incrementAndGet();
        handles.put(number, handle);
        ofInode.merge(handle.file().inode(), 1, Integer::sum);
        if (handle.quiet()) {
            quietOfInode.merge(handle.file().inode(), 1, Integer::sum);
        }
        return number;
    }

    /** Whether the kernel has, or had until a moment ago, another handle of the same inode. */
    boolean hasOthers(FileHandle handle) {
        return ofInode.getOrDefault(handle.file().inode(), 0) > 1;
    }

    /** Whether the kernel has a handle of the inode. */
    boolean hasAny(long inode) {
        return ofInode.containsKey(inode);
    }

    /** Whether descriptors of the inode may be closed without a word of the kernel. */
    boolean hasQuiet(long inode) {
        return quietOfInode.containsKey(inode);
    }

    int size() {
        return handles.size();
    }

    FileHandle get(long number) {
        @Nullable FileHandle handle = handles.get(number);
        if (handle == null) {
            throw new FsException(Errno.EBADF, "no file handle " + number);
        }
        return handle;
    }

    FileHandle remove(long number) {
        @Nullable FileHandle handle = handles.remove(number);
        if (handle == null) {
            throw new FsException(Errno.EBADF, "no file handle " + number);
        }
        takeOne(ofInode, handle);
        if (handle.quiet()) {
            takeOne(quietOfInode, handle);
        }
        return handle;
    }

    private static void takeOne(ConcurrentHashMap<Long, Integer> from, FileHandle handle) {
        from.computeIfPresent(
                handle.file().inode(), (inode, count) -> count == 1 ? null : count - 1);
    }
}
