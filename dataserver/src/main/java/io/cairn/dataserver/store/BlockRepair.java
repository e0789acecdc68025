package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;

/**
 * The content of a damaged block, from another replica.
 *
 * @param version of the chunk it was read from
 * @param content verified bytes of the block up to the end of the chunk; stays the caller's
 */
public record BlockRepair(long inode, int chunk, int block, ChunkVersion version, ByteBuf content) {
    private static final int CRC_OF_ZEROS = BlockCrc.of(ByteBuffer.allocate(BlockCrc.BLOCK_BYTES));

    BlockRepair retained() {
        content.retain();
        return this;
    }

    /**
     * As the WAL has it.
     *
     * @param step number of the newest step of a learner that it follows, 0 if there is none
     */
    DataOp write(int pg, long step) {
        int offset = block * BlockCrc.BLOCK_BYTES;
        return DataOp.write(
                pg,
                new DataOp.Range(inode, chunk, offset, content.readableBytes()),
                new DataOp.Caller(0, step, 0),
                DataOp.Known.map(0),
                BlockCrc.compute(content, offset));
    }

    /**
     * Whether it is what the index says the block contains; always so where the index cannot know,
     * because the block's content is in the WAL in part, or lost.
     */
    boolean matches(View view, Stored stored) {
        if (!isAsStored(view, stored)) {
            return true;
        }
        BlockGroup group = stored.group(block / ChunkKeys.GROUP_BLOCKS);
        int i = block % ChunkKeys.GROUP_BLOCKS;
        return switch (Long.signum(group.location(i))) {
            case 1 -> group.crc(i) == crcOfWholeBlock();
            case -1 -> true;
            default -> false;
        };
    }

    /** Whether the block is a hole, by the index and by the content: nothing of it is stored. */
    boolean isHole(View view, Stored stored) {
        BlockGroup group = stored.group(block / ChunkKeys.GROUP_BLOCKS);
        return isAsStored(view, stored)
                && group.location(block % ChunkKeys.GROUP_BLOCKS) == BlockGroup.ABSENT
                && crcOfWholeBlock() == CRC_OF_ZEROS;
    }

    private boolean isAsStored(View view, Stored stored) {
        int to = (block + 1) * BlockCrc.BLOCK_BYTES;
        return view.ranges().isEmpty() && view.baseLimit() >= Math.min(stored.length(), to);
    }

    /** Whether the block keeps its place: the repair needs no space. */
    boolean inPlace(Stored stored) {
        return content.readableBytes() == BlockCrc.BLOCK_BYTES
                && stored.group(block / ChunkKeys.GROUP_BLOCKS)
                        .stored(block % ChunkKeys.GROUP_BLOCKS);
    }

    private int crcOfWholeBlock() {
        ByteBuf whole = Unpooled.buffer(BlockCrc.BLOCK_BYTES).setZero(0, BlockCrc.BLOCK_BYTES);
        whole.setBytes(0, content, content.readerIndex(), content.readableBytes());
        ByteBuffer bytes = whole.nioBuffer(0, BlockCrc.BLOCK_BYTES);
        return BlockCrc.of(bytes);
    }
}
