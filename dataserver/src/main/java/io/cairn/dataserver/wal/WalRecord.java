package io.cairn.dataserver.wal;

import io.cairn.common.data.DataOp;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * An operation in the WAL: its head in memory and where its payload is. Any thread.
 *
 * @param repair whether it is a block's content as of the sequence, and no operation of the history
 * @param payloadOffset within the batch
 */
public record WalRecord(
        long lsn,
        long epoch,
        long sequence,
        DataOp op,
        boolean repair,
        WalBatch batch,
        int payloadOffset,
        int payloadLength) {

    /**
     * Reads payload bytes, from memory while the batch is on its way to the device. Not verified:
     * after the record's segment was recycled it gives other bytes.
     */
    public void read(int offset, ByteBuffer target) throws IOException {
        batch.read(payloadOffset + offset, target);
    }

    public int pg() {
        return op.pg();
    }
}
