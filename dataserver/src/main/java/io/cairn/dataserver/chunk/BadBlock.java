package io.cairn.dataserver.chunk;

/**
 * A block of a chunk whose content on a disk is lost.
 *
 * @param block number within the chunk
 */
public record BadBlock(int pg, long inode, int chunk, int block) {
    @Override
    public String toString() {
        return "block %d of chunk %d of inode %x, placement group %x"
                .formatted(block, chunk, inode, pg);
    }
}
