package io.cairn.client.inode;

import io.cairn.client.ahead.AheadMemory;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataClient;
import io.cairn.client.meta.MetaClient;

/**
 * What operations on files need of the client.
 *
 * @param metadataNanos how long a metadata operation may take; very long where there is no limit
 * @param ioNanos how long a data operation may take; likewise
 * @param awaitNanos how long one request may be kept waiting at the MDS on purpose
 * @param readAheadBytes of a stream, 0 for none
 * @param attrFreshNanos attributes older than this are fetched again before a read ends at the size
 *     they name
 */
public record FileServices(
        MetaClient meta,
        DataClient data,
        Publisher publisher,
        HeldContents contents,
        ClientMeters meters,
        AheadMemory aheadMemory,
        WriteBehind writeBehind,
        long readAheadBytes,
        long metadataNanos,
        long ioNanos,
        long awaitNanos,
        long attrFreshNanos) {
    /** In how many sessions an operation is begun, each after the end of the one before. */
    static final int MAX_TURNS = 8;

    /** By when a metadata operation that begins now has to be over, by {@link System#nanoTime}. */
    public long metadataDeadline() {
        return System.nanoTime() + metadataNanos;
    }
}
