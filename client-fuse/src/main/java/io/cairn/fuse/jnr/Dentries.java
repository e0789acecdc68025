package io.cairn.fuse.jnr;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which inode a name was when the kernel was last told: the kernel looks every part of a path up
 * before libfuse hands the whole path over, and the inode it has checked permissions of is the one
 * to act on. Bounded; what is dropped is looked up again. Any thread.
 */
final class Dentries {
    private static final int MAXIMUM = 1 << 16;

    /**
     * @param name one character for each byte
     */
    private record Key(long parent, String name) {}

    private final Map<Key, Long> inodes =
            new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1;

                @Override
                protected boolean removeEldestEntry(Map.Entry<Key, Long> eldest) {
                    return size() > MAXIMUM;
                }
            };

    synchronized @Nullable Long get(long parent, String name) {
        return inodes.get(new Key(parent, name));
    }

    synchronized void put(long parent, String name, long inode) {
        inodes.put(new Key(parent, name), inode);
    }

    synchronized void remove(long parent, String name) {
        inodes.remove(new Key(parent, name));
    }

    /** After a rename: whatever had the new name has it no more. */
    synchronized void move(long parent, String name, long newParent, String newName) {
        Long inode = inodes.remove(new Key(parent, name));
        Key to = new Key(newParent, newName);
        if (inode == null) {
            inodes.remove(to);
        } else {
            inodes.put(to, inode);
        }
    }

    synchronized void clear() {
        inodes.clear();
    }
}
