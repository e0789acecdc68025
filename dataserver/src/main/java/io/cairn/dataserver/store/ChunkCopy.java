package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.layout.FileLayouts;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;

/**
 * A piece of the state of a chunk, for a replica that lacks changes of it. With the first piece
 * what was there behind the chunk's end is gone; each overwrites bytes; the last one says what the
 * chunk is then. What is in no run stays what it is.
 *
 * @param first whether there was none before
 * @param last whether there are no more; version, truncate sequence and length are of all pieces
 * @param version of the chunk; NONE if there is no such chunk, which then is removed
 * @param truncateSequence the newest truncation of the chunk or its inode
 * @param lengthBytes of the chunk; 0 if there is none
 * @param runs in order, beginning and ending at a block, or at the end of the chunk
 * @param blockCrcs CRC32C of each block of the runs; of the last one up to the chunk's end
 * @param content the bytes of all runs; whoever made the piece says who releases it
 */
public record ChunkCopy(
        long inode,
        int chunk,
        boolean first,
        boolean last,
        ChunkVersion version,
        long truncateSequence,
        int lengthBytes,
        List<Run> runs,
        int[] blockCrcs,
        ByteBuf content) {

    /** Of content: what a record of the log takes. */
    static final int MAX_BYTES = 4 << 20;

    /** Bytes of the chunk. */
    public record Run(int offset, int length) {
        public int end() {
            return offset + length;
        }

        int blocks() {
            return BlockCrc.count(offset, length);
        }
    }

    /** Throws IllegalArgumentException if it is malformed. */
    public ChunkCopy {
        runs = List.copyOf(runs);
        long bytes = 0;
        long blocks = 0;
        int end = 0;
        boolean wellFormed =
                chunk >= 0
                        && truncateSequence >= 0
                        && lengthBytes >= 0
                        && lengthBytes <= FileLayouts.MAX_CHUNK_SIZE;
        for (Run r : runs) {
            wellFormed &=
                    r.offset() >= end
                            && r.length() > 0
                            && r.length() <= lengthBytes - r.offset()
                            && r.offset() % BlockCrc.BLOCK_BYTES == 0
                            && (r.end() % BlockCrc.BLOCK_BYTES == 0
                                    || (last && r.end() == lengthBytes));
            end = wellFormed ? r.end() : end;
            bytes += r.length();
            blocks += wellFormed ? r.blocks() : 0;
        }
        wellFormed &= bytes <= MAX_BYTES;
        if (!wellFormed || bytes != content.readableBytes() || blocks != blockCrcs.length) {
            throw new IllegalArgumentException(
                    "malformed copy of chunk %d of inode %d: %d bytes, %s, %d checksums"
                            .formatted(chunk, inode, lengthBytes, runs, blockCrcs.length));
        }
    }

    /** Of a chunk that is not, in a PG that is not. */
    static ChunkCopy none(long inode, int chunk) {
        return new ChunkCopy(
                inode,
                chunk,
                true,
                true,
                ChunkVersion.NONE,
                0,
                0,
                List.of(),
                new int[0],
                Unpooled.EMPTY_BUFFER);
    }

    /** Blocks that it may need. */
    int blocks() {
        return blockCrcs.length;
    }

    /** Where the next piece begins. */
    public int next() {
        return runs.isEmpty() ? lengthBytes : runs.getLast().end();
    }
}
