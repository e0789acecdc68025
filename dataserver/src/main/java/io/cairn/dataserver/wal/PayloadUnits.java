package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;

/**
 * The units a WRITE's payload is checked in: one per 4 KiB-aligned block of the chunk that it
 * touches, as {@link DataOp#blockCrcs} has them.
 */
final class PayloadUnits {
    private PayloadUnits() {}

    /** Begin of a unit, relative to the payload. */
    static int start(DataOp op, int unit) {
        return unit == 0
                ? 0
                : (op.offset() / BlockCrc.BLOCK_BYTES + unit) * BlockCrc.BLOCK_BYTES - op.offset();
    }

    static int end(DataOp op, int unit) {
        return Math.min(
                op.length(),
                (op.offset() / BlockCrc.BLOCK_BYTES + unit + 1) * BlockCrc.BLOCK_BYTES
                        - op.offset());
    }
}
