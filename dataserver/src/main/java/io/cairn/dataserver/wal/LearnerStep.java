package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the log of a learner has besides operations: no part of the PG's history, but ordered with
 * it by its place in the log. Immutable.
 *
 * <p>{@link #number} counts the steps of a PG on this disk, and never falls: by it a recovery knows
 * which of them the index has.
 */
public sealed interface LearnerStep {
    long number();

    /** Whether the log may use segments in reserve for it: it needs no space of the disk. */
    default boolean urgent(int payloadBytes) {
        return payloadBytes == 0;
    }

    /**
     * The history goes on from the record's position. The payload has the answered numbers.
     *
     * @param content how much the PG has from then on, never all
     */
    record Reset(long number, Completeness content) implements LearnerStep {
        @Override
        public boolean urgent(int payloadBytes) {
            return true;
        }
    }

    /** The PG has everything up to the record's position. */
    record Completed(long number) implements LearnerStep {}

    /** The PG has everything of what is up to the key in the order of heads. */
    record CopiedTo(long number, long inode, int chunk) implements LearnerStep {}

    /**
     * Bytes of a chunk as another replica has them, or none.
     *
     * @param begins what was here of the chunk is gone from the cut on
     * @param cutTo where it begins: its length; else 0
     * @param end if these are the last ones
     */
    record Copy(long number, boolean begins, int cutTo, @Nullable CopyEnd end)
            implements LearnerStep {}

    /**
     * The state of a chunk that was copied.
     *
     * @param epoch of the last operation in it, 0 if there is no such chunk
     * @param sequence of the last operation in it
     */
    record CopyEnd(long epoch, long sequence, long truncateSequence, int lengthBytes) {}

    /**
     * The newest truncation of an inode as a whole, as another replica has it.
     *
     * @param clears whether all chunks of the inode are removed
     */
    record CopyInode(long number, boolean clears) implements LearnerStep {}

    /** The write that a copy is to those who merge and read it; the length may be 0. */
    static DataOp copied(
            int pg,
            long inode,
            int chunk,
            int offset,
            int length,
            @Nullable CopyEnd end,
            int[] blockCrcs) {
        long truncateSequence = end == null ? 0 : end.truncateSequence();
        return DataOp.write(
                pg,
                new DataOp.Range(inode, chunk, offset, length),
                DataOp.Caller.NONE,
                new DataOp.Known(0, truncateSequence, List.of()),
                blockCrcs);
    }

    /** What stands for a copied inode head where operations are expected. */
    static DataOp copiedInode(int pg, long inode, long truncateSequence) {
        return DataOp.truncateInode(pg, inode, truncateSequence, 0);
    }

    /** What stands for a step that changes no inode. */
    static DataOp none(int pg) {
        return DataOp.noop(pg, 0);
    }

    /** Whether the bytes are whole blocks, but for the end of the last one. */
    static boolean isAligned(int offset, int length, @Nullable CopyEnd end) {
        boolean whole = length % BlockCrc.BLOCK_BYTES == 0;
        return offset % BlockCrc.BLOCK_BYTES == 0
                && (whole || (end != null && offset + length == end.lengthBytes()));
    }
}
