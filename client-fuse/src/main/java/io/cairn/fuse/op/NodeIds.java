package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;

/**
 * Node ids are inode ids, except that the kernel calls the root of every mount node 1, whichever
 * directory of the name space is mounted. Immutable.
 */
final class NodeIds {
    static final long ROOT_NODE = 1;

    private final long rootInode;

    NodeIds(long rootInode) {
        this.rootInode = rootInode;
    }

    long rootInode() {
        return rootInode;
    }

    long inode(long node) {
        return node == ROOT_NODE ? rootInode : node;
    }

    /** ESTALE for the root of the name space where another directory has its number. */
    long node(long inode) {
        if (inode == ROOT_NODE && inode != rootInode) {
            throw new FsException(Errno.ESTALE, "the root is outside the mounted directory");
        }
        return inode == rootInode ? ROOT_NODE : inode;
    }

    long node(Attr attr) {
        return node(attr.getInode());
    }
}
