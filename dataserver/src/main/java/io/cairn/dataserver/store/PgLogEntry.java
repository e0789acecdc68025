package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.netty.buffer.ByteBuf;

/**
 * One operation of a PG's history. Within a PG sequences are consecutive; epochs never fall.
 *
 * @param payload the bytes; the store copies or retains what it keeps before {@code append}
 *     returns, and they do not change while it does
 */
public record PgLogEntry(long epoch, long sequence, DataOp op, ByteBuf payload) {
    public int pg() {
        return op.pg();
    }
}
