package io.cairn.common.data;

import io.cairn.common.layout.PgHash;

/**
 * A placement group that is made of a part of another one: of the chunks that are its own when the
 * pool has one group more than its index. Immutable.
 *
 * @param child the group that is made
 * @param base how many groups the pool was made with
 * @param epoch of the map that has made it: its history begins in this epoch, where the operation
 *     stands in the history of the other one
 */
public record Split(int child, int base, long epoch) {
    /** The group of which it is made. */
    public int parent() {
        return PgHash.pg(PgHash.poolOf(child), PgHash.parent(PgHash.indexOf(child), base));
    }

    /** Of a chunk that was the parent's, whether it is the child's now. */
    public boolean takes(long inode, int chunk) {
        int index = PgHash.indexOf(child);
        return PgHash.index(inode, chunk, base, index + 1) == index;
    }
}
