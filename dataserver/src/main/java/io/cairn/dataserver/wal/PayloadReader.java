package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads verified bytes of a write that is in the WAL. For one thread. */
public final class PayloadReader {
    public static final int INTACT = -1;

    private final ByteBuffer scratch = ByteBuffer.allocateDirect(BlockCrc.BLOCK_BYTES);

    /**
     * Copies bytes [from, to) of the chunk, which the write must contain, to the buffer at the
     * offset.
     *
     * @return {@link #INTACT}, or the first position in the chunk whose checksum does not match
     */
    public int read(WalRecord record, int from, int to, ByteBuffer target, int at)
            throws IOException {
        DataOp op = record.op();
        int begin = from - op.offset();
        int end = to - op.offset();
        int first = from / BlockCrc.BLOCK_BYTES - op.offset() / BlockCrc.BLOCK_BYTES;
        readWholeUnits(record, begin, end, first, target, at);
        for (int unit = first; ; unit++) {
            int unitStart = PayloadUnits.start(op, unit);
            int unitEnd = PayloadUnits.end(op, unit);
            if (unitStart >= end) {
                return INTACT;
            }
            int partStart = Math.max(begin, unitStart);
            int partEnd = Math.min(end, unitEnd);
            int targetAt = at + partStart - begin;
            boolean whole = partStart == unitStart && partEnd == unitEnd;
            ByteBuffer b =
                    whole
                            ? target.slice(targetAt, unitEnd - unitStart)
                            : scratch.slice(0, unitEnd - unitStart);
            if (!whole) {
                record.read(unitStart, b);
            }
            if (unit >= op.blockCrcs().length
                    || Crc.of(b, 0, unitEnd - unitStart) != op.blockCrcs()[unit]) {
                return op.offset() + unitStart;
            }
            if (!whole) {
                target.put(targetAt, b, partStart - unitStart, partEnd - partStart);
            }
            if (unitEnd >= op.length()) {
                return INTACT;
            }
        }
    }

    /** All of those in the range at once. */
    private static void readWholeUnits(
            WalRecord record, int begin, int end, int first, ByteBuffer target, int at)
            throws IOException {
        DataOp op = record.op();
        int firstWhole = PayloadUnits.start(op, first) >= begin ? first : first + 1;
        int start = PayloadUnits.start(op, firstWhole);
        int stop = end;
        if (end < op.length()) {
            stop = end - (op.offset() + end) % BlockCrc.BLOCK_BYTES;
        }
        if (start < stop) {
            record.read(start, target.slice(at + start - begin, stop - start));
        }
    }
}
