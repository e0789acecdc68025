package io.cairn.dataserver.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Striping by counting units one by one: the oracle for the arithmetic. */
record TestLayout(int stripeUnit, int stripeCount, int chunkSize) {
    /** Bytes of the chunk in a file of the size. */
    int cut(int chunk, long size) {
        int cut = 0;
        int unitsPerChunk = chunkSize / stripeUnit;
        for (long unit = 0; unit * stripeUnit < size; unit++) {
            long stripe = unit / stripeCount;
            long of = stripe / unitsPerChunk * stripeCount + unit % stripeCount;
            if (of == chunk) {
                int at = (int) (stripe % unitsPerChunk) * stripeUnit;
                cut = Math.max(cut, at + (int) Math.min(stripeUnit, size - unit * stripeUnit));
            }
        }
        return cut;
    }

    byte[] truncatePayload(long size) {
        return ByteBuffer.allocate(24)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(size)
                .putInt(stripeUnit)
                .putInt(stripeCount)
                .putInt(chunkSize)
                .putInt(0)
                .array();
    }
}
