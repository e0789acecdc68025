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

    /** Which block of which replica. */
    record PgBlock(int disk, long pgEpoch, int pg, long inode, int chunk, int block) {}

    /** What the payload is. */
    record Reply(ChunkVersion version, int crc) {}

    private PgBlockFormat() {}

    static void write(PgBlock b, ByteBuf out) {
        out.writeIntLE(b.disk());
        out.writeIntLE(b.block());
        out.writeLongLE(b.pgEpoch());
        out.writeIntLE(b.pg());
        out.writeIntLE(b.chunk());
        out.writeLongLE(b.inode());
    }

    /** Reads from a duplicate; throws FsException EPROTO when it is no such head. */
    static PgBlock read(ByteBuf head) {
        ByteBuf in = sized(head, LENGTH);
        int disk = in.readIntLE();
        int block = in.readIntLE();
        long pgEpoch = in.readLongLE();
        int pg = in.readIntLE();
        int chunk = in.readIntLE();
        long inode = in.readLongLE();
        if (block < 0 || block > Integer.MAX_VALUE / 4096 - 1 || chunk < 0) {
            throw new FsException(Errno.EPROTO, "block " + block + " of chunk " + chunk);
        }
        return new PgBlock(disk, pgEpoch, pg, inode, chunk, block);
    }

    static void writeReply(Reply r, ByteBuf out) {
        out.writeLongLE(r.version().epoch());
        out.writeLongLE(r.version().sequence());
        out.writeIntLE(r.crc());
        out.writeIntLE(0);
    }

    /** Reads from a duplicate; throws FsException EPROTO when it is no such head. */
    static Reply readReply(ByteBuf head) {
        ByteBuf in = sized(head, REPLY_LENGTH);
        return new Reply(new ChunkVersion(in.readLongLE(), in.readLongLE()), in.readIntLE());
    }

    private static ByteBuf sized(ByteBuf head, int length) {
        if (head.readableBytes() != length) {
            throw new FsException(Errno.EPROTO, "head of %d bytes".formatted(head.readableBytes()));
        }
        return head.duplicate();
    }
}
