package io.cairn.fuse.jnr;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Files and directories that are open, by the number libfuse keeps for each. What is done to an
 * open file goes by this number, so that neither a rename nor a removal changes which file it is.
 * Any thread.
 */
final class HandleNumbers {
    private final ConcurrentHashMap<Long, OpenFile> files = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, Long> directories = new ConcurrentHashMap<>();
    private final AtomicLong last = new AtomicLong();

    long add(OpenFile file) {
        long number = last.incrementAndGet();
        files.put(number, file);
        return number;
    }

    long addDirectory(long inode) {
        long number = last.incrementAndGet();
        directories.put(number, inode);
        return number;
    }

    OpenFile file(long number) {
        return known(files.get(number), number);
    }

    OpenFile remove(long number) {
        return known(files.remove(number), number);
    }

    /** Inode of an open directory. */
    long directory(long number) {
        return known(directories.get(number), number);
    }

    void removeDirectory(long number) {
        directories.remove(number);
    }

    int size() {
        return files.size() + directories.size();
    }

    private static <T> T known(@Nullable T open, long number) {
        if (open == null) {
            throw new FsException(Errno.EBADF, "no file handle " + number);
        }
        return open;
    }
}
