package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkVersion;

/**
 * What a PG has of a chunk, or of an inode as a whole.
 *
 * @param version of the chunk: the same with the same content, as long as both replicas are
 *     complete; NONE for an inode, and for a chunk that was copied in part
 * @param truncateSequence the newest truncation of the chunk or its inode
 * @param lengthBytes of the chunk, above 0; 0 for an inode
 */
public record ContentHead(Key key, ChunkVersion version, long truncateSequence, int lengthBytes) {

    /**
     * Place in the order of heads: an inode comes before its chunks, and inodes are ordered as
     * unsigned numbers.
     *
     * @param chunk {@link #INODE} for the inode as a whole
     */
    public record Key(long inode, int chunk) implements Comparable<Key> {
        public static final int INODE = -1;

        /** Before all others. */
        public static final Key FIRST = new Key(0, INODE - 1);

        @Override
        public int compareTo(Key o) {
            int byInode = Long.compareUnsigned(inode, o.inode);
            return byInode != 0 ? byInode : Integer.compare(chunk, o.chunk);
        }

        boolean isInode() {
            return chunk == INODE;
        }
    }
}
