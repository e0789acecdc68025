package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.zip.CRC32C;

/** Makes operations for tests. */
final class Ops {
    static final int BLOCK = 4096;

    private Ops() {}

    static int[] blockCrcs(int offset, byte[] payload) {
        int first = offset / BLOCK;
        int[] crcs = new int[(offset + payload.length - 1) / BLOCK - first + 1];
        for (int i = 0; i < crcs.length; i++) {
            int from = Math.max(0, (first + i) * BLOCK - offset);
            int to = Math.min(payload.length, (first + i + 1) * BLOCK - offset);
            CRC32C crc = new CRC32C();
            crc.update(payload, from, to - from);
            crcs[i] = (int) crc.getValue();
        }
        return crcs;
    }

    static PgLogEntry write(
            int pg,
            long epoch,
            long sequence,
            long inode,
            int chunk,
            int offset,
            byte[] payload,
            long truncateSequence,
            List<Cut> cuts) {
        DataOp op =
                DataOp.write(
                        pg,
                        new DataOp.Range(inode, chunk, offset, payload.length),
                        new DataOp.Caller(7, sequence, Math.max(0, sequence - 5)),
                        new DataOp.Known(1, truncateSequence, cuts),
                        blockCrcs(offset, payload));
        return new PgLogEntry(epoch, sequence, op, Unpooled.wrappedBuffer(payload));
    }

    static PgLogEntry noop(int pg, long epoch, long sequence) {
        return new PgLogEntry(epoch, sequence, DataOp.noop(pg, 1), Unpooled.EMPTY_BUFFER);
    }

    static PgLogEntry split(long epoch, long sequence, Split split) {
        ByteBuf payload = Unpooled.buffer();
        SplitFormat.encode(split, payload);
        return new PgLogEntry(epoch, sequence, DataOp.split(split.parent(), 1), payload);
    }

    static PgLogEntry merge(long epoch, long sequence, Merge merge) {
        ByteBuf payload = Unpooled.buffer();
        MergeFormat.encode(merge, payload);
        return new PgLogEntry(epoch, sequence, DataOp.merge(merge.parent(), 1), payload);
    }

    static PgLogEntry delete(int pg, long epoch, long sequence, long... inodes) {
        ByteBuffer b = ByteBuffer.allocate(8 * inodes.length).order(ByteOrder.LITTLE_ENDIAN);
        for (long i : inodes) {
            b.putLong(i);
        }
        DataOp op = DataOp.deleteInodes(pg, 0, inodes.length, 1);
        return new PgLogEntry(epoch, sequence, op, Unpooled.wrappedBuffer(b.array()));
    }

    static PgLogEntry truncate(
            int pg,
            long epoch,
            long sequence,
            long inode,
            long truncateSequence,
            long size,
            TestLayout layout) {
        DataOp op = DataOp.truncateInode(pg, inode, truncateSequence, 1);
        byte[] payload = layout.truncatePayload(size);
        return new PgLogEntry(epoch, sequence, op, Unpooled.wrappedBuffer(payload));
    }
}
