package io.cairn.fuse.op;

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

    long node(long inode) {
        return inode == rootInode ? ROOT_NODE : inode;
    }

    long node(Attr attr) {
        return node(attr.getInode());
    }
}
