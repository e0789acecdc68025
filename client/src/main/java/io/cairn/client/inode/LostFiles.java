package io.cairn.client.inode;

import io.cairn.common.errno.FsException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Files that this client has made, has lost writes of, and has no longer open: who gives one of
 * them the place of another file, by a rename or a link, is told once. Any thread.
 */
public final class LostFiles {
    /** More are forgotten, the oldest first: some 20 MB. */
    private static final int MAX_FILES = 1 << 16;

    /**
     * @param name under which it was lost
     * @param why what its writes failed with
     */
    public record Lost(long inode, InodeTable.Name name, FsException why) {}

    private final LinkedHashMap<Long, Lost> files = new LinkedHashMap<>();
    private final Map<InodeTable.Name, Long> byName = new HashMap<>();

    synchronized void add(Lost lost) {
        forget(lost.inode);
        files.put(lost.inode, lost);
        byName.put(lost.name, lost.inode);
        if (files.size() > MAX_FILES) {
            forget(files.firstEntry().getKey());
        }
    }

    /** By the name; another client may have given that to another file since. */
    public synchronized @Nullable Lost find(InodeTable.Name name) {
        @Nullable Long inode = byName.get(name);
        return inode == null ? null : files.get(inode);
    }

    /** Somebody is told of it, or it is gone; null where nothing was lost. */
    public synchronized @Nullable Lost take(long inode) {
        @Nullable Lost lost = files.get(inode);
        forget(inode);
        return lost;
    }

    /** This client has given the inode another name, perhaps in place of a file that had it. */
    synchronized void renamed(long inode, InodeTable.Name from, InodeTable.Name to) {
        unlinked(to);
        @Nullable Lost lost = files.get(inode);
        if (lost == null) {
            unlinked(from);
        } else {
            add(new Lost(inode, to, lost.why));
        }
    }

    private void forget(long inode) {
        @Nullable Lost lost = files.remove(inode);
        if (lost != null) {
            byName.remove(lost.name, inode);
        }
    }

    /** This client has given the name to another file, or to none. */
    synchronized void unlinked(InodeTable.Name name) {
        @Nullable Long inode = byName.get(name);
        if (inode != null) {
            forget(inode);
        }
    }
}
