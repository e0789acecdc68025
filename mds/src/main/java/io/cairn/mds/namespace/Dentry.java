package io.cairn.mds.namespace;

/**
 * A directory entry, without the name that leads to it.
 *
 * @param inode what it leads to
 * @param sequence its cursor, unique in its directory as long as the name exists
 * @param type type bits of the inode's mode
 */
record Dentry(long inode, long sequence, int type) {
    boolean isDirectory() {
        return type == Mode.DIRECTORY;
    }
}
