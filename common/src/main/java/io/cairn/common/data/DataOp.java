package io.cairn.common.data;

import java.util.List;

/**
 * The head of one data operation, as a client sends it, as the primary forwards it and as the WAL
 * keeps it (layout: {@code DataOpFormat}). Made by one of the factories; all components at once are
 * for the format only. Immutable, but for the array.
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
    private static final int[] NO_CRCS = {};

    /** Bytes of one chunk. */
    public record Range(long inode, int chunk, int offset, int length) {}

    /**
     * Whose operation it is.
     *
     * @param session of the client; 0 for the MDS and for the data servers themselves
     * @param number of the mutation, 0 for reads
     * @param ackedBelow the client has the answers of all its numbers below this one
     */
    public record Caller(long session, long number, long ackedBelow) {
        /** Nobody who numbers its operations: this one may be repeated harmlessly. */
        public static final Caller NONE = new Caller(0, 0, 0);
    }

    /**
     * What the caller knew when it asked.
     *
     * @param cuts truncations not yet applied everywhere, oldest first
     */
    public record Known(long mapEpoch, long truncateSequence, List<Cut> cuts) {
        /** Of a file that was never truncated. */
        public static Known map(long mapEpoch) {
            return new Known(mapEpoch, 0, List.of());
        }
    }

    /** Writes the payload, which has these checksums. */
    public static DataOp write(int pg, Range range, Caller caller, Known known, int[] blockCrcs) {
        return of(DataOpType.WRITE, pg, range, caller, known, blockCrcs);
    }

    public static DataOp read(int pg, Range range, Caller caller, Known known) {
        return of(DataOpType.READ, pg, range, caller, known, NO_CRCS);
    }

    /** Cuts all chunks of the inode in the PG; the payload says to what. */
    public static DataOp truncateInode(int pg, long inode, long truncateSequence, long mapEpoch) {
        int length = TruncateInodeFormat.LENGTH;
        Known known = new Known(mapEpoch, truncateSequence, List.of());
        return of(
                DataOpType.TRUNCATE_INODE,
                pg,
                new Range(inode, 0, 0, length),
                Caller.NONE,
                known,
                NO_CRCS);
    }

    /**
     * Removes all chunks of so many inodes in the PG; the payload says which.
     *
     * @param number given by the MDS
     */
    public static DataOp deleteInodes(int pg, long number, int inodes, long mapEpoch) {
        return of(
                DataOpType.DELETE_INODES,
                pg,
                new Range(0, 0, 0, DeleteInodesFormat.encodedLength(inodes)),
                new Caller(0, number, 0),
                Known.map(mapEpoch),
                NO_CRCS);
    }

    /** Changes nothing: its commit proves that the members share one history. */
    public static DataOp noop(int pg, long mapEpoch) {
        return of(
                DataOpType.NOOP,
                pg,
                new Range(0, 0, 0, 0),
                Caller.NONE,
                Known.map(mapEpoch),
                NO_CRCS);
    }

    /** Makes another PG of a part of this one; the payload says which. */
    public static DataOp split(int pg, long mapEpoch) {
        return of(
                DataOpType.SPLIT,
                pg,
                new Range(0, 0, 0, SplitFormat.LENGTH),
                Caller.NONE,
                Known.map(mapEpoch),
                NO_CRCS);
    }

    /** Takes in the chunks of another PG; the payload says of which. */
    public static DataOp merge(int pg, long mapEpoch) {
        return of(
                DataOpType.MERGE,
                pg,
                new Range(0, 0, 0, MergeFormat.LENGTH),
                Caller.NONE,
                Known.map(mapEpoch),
                NO_CRCS);
    }

    private static DataOp of(
            DataOpType type, int pg, Range range, Caller caller, Known known, int[] blockCrcs) {
        return new DataOp(
                type,
                0,
                pg,
                caller.session(),
                caller.number(),
                caller.ackedBelow(),
                range.inode(),
                range.chunk(),
                range.offset(),
                range.length(),
                known.truncateSequence(),
                known.mapEpoch(),
                known.cuts(),
                blockCrcs);
    }

    /**
     * A shrink as one chunk sees it: with this sequence, nothing at or beyond lengthBytes is left.
     */
    public record Cut(long sequence, int lengthBytes) {}
}
