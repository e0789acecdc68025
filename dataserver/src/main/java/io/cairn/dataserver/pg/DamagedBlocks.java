package io.cairn.dataserver.pg;

/** Told of blocks that are damaged on a disk here, to repair them from other replicas. */
public interface DamagedBlocks {
    /** A block somewhere in these bytes of the chunk is damaged. Any thread. */
    void found(PgLoop owner, int disk, int pg, long inode, int chunk, int offset, int lengthBytes);
}
