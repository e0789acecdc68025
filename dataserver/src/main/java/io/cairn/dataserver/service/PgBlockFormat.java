package io.cairn.dataserver.service;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.netty.buffer.ByteBuf;

/**
 * Head of {@code PG_READ_BLOCK}, with which a member reads from another one a block that is damaged
 * on its own disk; little-endian, no payload.
 *
 * <pre>
 *  0          4           8              16       20          24          32
 *  ├ u32 disk ┼ u32 block ┼ u64 PG epoch ┼ u32 pg ┼ u32 chunk ┼ u64 inode ┤
 * </pre>
 *
 * Head of the reply; the payload is the block, up to the end of the chunk.
 *
 * <pre>
 *  0                         8                            16              20          24
 *  ├ u64 epoch of the last ─ ┼ u64 sequence of the last ─ ┼ u32 CRC32C of ┼ u32 zero  ┤
 *  │ operation on the chunk  │ operation on the chunk     │ the payload   │           │
 * </pre>
 */
final class PgBlockFormat {
    static final int LENGTH = 32;
    static final int REPLY_LENGTH = 24;

    private static final int DISK_OFFSET = 0;
    private static final int BLOCK_OFFSET = 4;
    private static final int PG_EPOCH_OFFSET = 8;
    private static final int PG_OFFSET = 16;
    private static final int CHUNK_OFFSET = 20;
    private static final int INODE_OFFSET = 24;

    private static final int REPLY_EPOCH_OFFSET = 0;
    private static final int REPLY_SEQUENCE_OFFSET = 8;
    private static final int REPLY_CRC_OFFSET = 16;
    private static final int REPLY_RESERVED_OFFSET = 20;

    /** Which block of which replica. */
    record PgBlock(int disk, long pgEpoch, int pg, long inode, int chunk, int block) {}

    /** What the payload is. */
    record Reply(ChunkVersion version, int crc) {}

    private PgBlockFormat() {}

    /** Appends the head. */
    static void encode(PgBlock b, ByteBuf to) {
        to.ensureWritable(LENGTH);
        int at = to.writerIndex();
        to.setIntLE(at + DISK_OFFSET, b.disk());
        to.setIntLE(at + BLOCK_OFFSET, b.block());
        to.setLongLE(at + PG_EPOCH_OFFSET, b.pgEpoch());
        to.setIntLE(at + PG_OFFSET, b.pg());
        to.setIntLE(at + CHUNK_OFFSET, b.chunk());
        to.setLongLE(at + INODE_OFFSET, b.inode());
        to.writerIndex(at + LENGTH);
    }

    /** Reads the head, the indices stay; throws FsException EPROTO when it is no such head. */
    static PgBlock decode(ByteBuf head) {
        int at = start(head, LENGTH);
        int block = head.getIntLE(at + BLOCK_OFFSET);
        int chunk = head.getIntLE(at + CHUNK_OFFSET);
        if (block < 0 || block > Integer.MAX_VALUE / 4096 - 1 || chunk < 0) {
            throw new FsException(Errno.EPROTO, "block " + block + " of chunk " + chunk);
        }
        return new PgBlock(
                head.getIntLE(at + DISK_OFFSET),
                head.getLongLE(at + PG_EPOCH_OFFSET),
                head.getIntLE(at + PG_OFFSET),
                head.getLongLE(at + INODE_OFFSET),
                chunk,
                block);
    }

    /** Appends the head of the reply. */
    static void encodeReply(Reply r, ByteBuf to) {
        to.ensureWritable(REPLY_LENGTH);
        int at = to.writerIndex();
        to.setLongLE(at + REPLY_EPOCH_OFFSET, r.version().epoch());
        to.setLongLE(at + REPLY_SEQUENCE_OFFSET, r.version().sequence());
        to.setIntLE(at + REPLY_CRC_OFFSET, r.crc());
        to.setIntLE(at + REPLY_RESERVED_OFFSET, 0);
        to.writerIndex(at + REPLY_LENGTH);
    }

    /** Reads the head, the indices stay; throws FsException EPROTO when it is no such head. */
    static Reply decodeReply(ByteBuf head) {
        int at = start(head, REPLY_LENGTH);
        ChunkVersion version =
                new ChunkVersion(
                        head.getLongLE(at + REPLY_EPOCH_OFFSET),
                        head.getLongLE(at + REPLY_SEQUENCE_OFFSET));
        return new Reply(version, head.getIntLE(at + REPLY_CRC_OFFSET));
    }

    private static int start(ByteBuf head, int length) {
        if (head.readableBytes() != length) {
            throw new FsException(Errno.EPROTO, "head of %d bytes".formatted(head.readableBytes()));
        }
        return head.readerIndex();
    }
}
