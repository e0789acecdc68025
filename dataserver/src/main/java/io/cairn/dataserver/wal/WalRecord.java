package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An operation that is logged, or about to be: its head in memory and where its payload is. Any
 * thread.
 *
 * @param lsn {@link #NOT_LOGGED} before it is in the log
 * @param repair whether it is a block's content as of the sequence, and no operation of the history
 * @param step of a learner, which is no operation of the history; its epoch and sequence are those
 *     of the operation it follows, of a RESET the position it sets
 * @param payloadOffset within the source
 * @param extents blocks of the data file that have the payload of a large write; else empty
 */
public record WalRecord(
        long lsn,
        long epoch,
        long sequence,
        DataOp op,
        boolean repair,
        @Nullable LearnerStep step,
        PayloadSource payload,
        int payloadOffset,
        int payloadLength,
        List<BlockRun> extents) {
    /** Higher than any. */
    public static final long NOT_LOGGED = Long.MAX_VALUE;

    /** An operation or a repair. */
    public WalRecord(
            long lsn,
            long epoch,
            long sequence,
            DataOp op,
            boolean repair,
            PayloadSource payload,
            int payloadOffset,
            int payloadLength,
            List<BlockRun> extents) {
        this(
                lsn,
                epoch,
                sequence,
                op,
                repair,
                null,
                payload,
                payloadOffset,
                payloadLength,
                extents);
    }

    /** Whether it is an operation of the PG's history. */
    public boolean isOperation() {
        return !repair && step == null;
    }

    /** A step of a learner that is about to be logged. */
    public static WalRecord step(
            long epoch,
            long sequence,
            DataOp op,
            LearnerStep step,
            PayloadSource payload,
            int payloadLength) {
        return new WalRecord(
                NOT_LOGGED, epoch, sequence, op, false, step, payload, 0, payloadLength, List.of());
    }

    /** A large write whose payload lies in these blocks of the data file. */
    static WalRecord direct(
            long lsn, long epoch, long sequence, DataOp op, List<BlockRun> extents, DataFile data) {
        return new WalRecord(
                lsn,
                epoch,
                sequence,
                op,
                false,
                new ExtentPayload(data, extents),
                op.offset() % BlockCrc.BLOCK_BYTES,
                op.length(),
                extents);
    }

    /**
     * Reads payload bytes, from memory until they are on the device. Not verified: after the
     * record's segment was recycled, or its extents freed, it gives other bytes.
     */
    public void read(int offset, ByteBuffer target) throws IOException {
        payload.read(payloadOffset + offset, target);
    }

    public int pg() {
        return op.pg();
    }

    /** The block of the data file that has this block of the chunk, which the write must touch. */
    public long extentBlock(int block) {
        int i = block - op.offset() / BlockCrc.BLOCK_BYTES;
        for (BlockRun run : extents) {
            if (i < run.count()) {
                return run.first() + i;
            }
            i -= run.count();
        }
        throw new IllegalArgumentException("block " + block + " is not in " + extents);
    }
}
