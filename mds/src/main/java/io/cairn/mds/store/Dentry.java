package io.cairn.mds.store;

import io.cairn.common.posix.Mode;

/**
 * A directory entry, without the name that leads to it.
 *
 * @param inode what it leads to
 * @param sequence its cursor, unique in its directory as long as the name exists
 * @param type type bits of the inode's mode
 */
public record Dentry(long inode, long sequence, int type) {
    public boolean isDirectory() {
        return type == Mode.DIRECTORY;
    }
}
