package io.cairn.common.data;

import java.util.List;

/**
 * The head of one data operation, as a client sends it, as the primary forwards it and as the WAL
 * keeps it (layout: {@code DataOpFormat}).
 *
 * @param type what to do
 * @param flags reserved, 0
 * @param pg placement group, pool &lt;&lt; 16 | index
 * @param session client session; 0 for the MDS
 * @param number of this mutation within the session, over all PGs; 0 for reads
 * @param ackedBelow the client has the answers of all its numbers below this one
 * @param inode inode id
 * @param chunk chunk number within the inode
 * @param offset byte offset within the chunk
 * @param length bytes to read or write; for other types the payload's length
 * @param truncateSequence newest truncate sequence of the inode the client knows
 * @param mapEpoch cluster map the client used
 * @param cuts truncations not yet applied everywhere, oldest first, at most 4
 * @param blockCrcs CRC32C of the payload, one per 4 KiB-aligned block of the chunk it touches (a
 *     partial first or last block: of the bytes given)
 */
public record DataOp(
        DataOpType type,
        int flags,
        int pg,
        long session,
        long number,
        long ackedBelow,
        long inode,
        int chunk,
        int offset,
        int length,
        long truncateSequence,
        long mapEpoch,
        List<Cut> cuts,
        int[] blockCrcs) {

    /**
     * A shrink as one chunk sees it: with this sequence, nothing at or beyond lengthBytes is left.
     */
    public record Cut(long sequence, int lengthBytes) {}
}
