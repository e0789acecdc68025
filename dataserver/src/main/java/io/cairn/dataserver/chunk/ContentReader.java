package io.cairn.dataserver.chunk;

import io.cairn.dataserver.disk.BlockAllocator;

/** Collects from the content of an index what its summary says of it. */
record ContentReader(BlockAllocator allocator, TruncatedInodes truncated)
        implements ChunkIndex.Visitor {
    ContentReader(long blocks) {
        this(new BlockAllocator(blocks), new TruncatedInodes());
    }

    @Override
    public void inodeHead(int pg, long inode, long truncateSequence) {
        truncated.add(inode);
    }

    @Override
    public void chunkHead(int pg, long inode, int chunk, ChunkHead head) {
        if (head.truncateSequence() > 0) {
            truncated.add(inode);
        }
    }

    @Override
    public void group(int pg, long inode, int chunk, int group, BlockGroup blocks) {
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (blocks.stored(i)) {
                allocator.markUsed(blocks.location(i), 1);
            }
        }
    }
}
