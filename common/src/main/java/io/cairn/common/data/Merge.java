package io.cairn.common.data;

import io.cairn.common.layout.PgHash;

/**
 * A placement group that goes back into the one that it was made of, the reverse of a {@link
 * Split}: its chunks are those that are the child's when the pool has one group more than its
 * index. Immutable.
 *
 * @param child the group that ends
 * @param base how many groups the pool was made with
 * @param epoch of the map that has said so: from this epoch of its own on the child does nothing
 *     but to agree on its end
 * @param childEpoch epoch of the operation up to which the child's history is taken in
 * @param childSequence sequence of that operation: all members in sync have it, and what follows it
 *     changes nothing
 */
public record Merge(int child, int base, long epoch, long childEpoch, long childSequence) {
    /** The group that goes on with both. */
    public int parent() {
        return PgHash.pg(PgHash.poolOf(child), PgHash.parent(PgHash.indexOf(child), base));
    }

    /** Whether the chunk, of one of both groups, is the child's. */
    public boolean takes(long inode, int chunk) {
        int index = PgHash.indexOf(child);
        return PgHash.index(inode, chunk, base, index + 1) == index;
    }
}
