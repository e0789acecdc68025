package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a disk does for a replica that was away for so long that no log reaches back. It takes new
 * operations from the primary's position on ({@link #reset}), and meanwhile the present content of
 * every chunk that was changed while it was away ({@link #copy}), until it has all ({@link
 * #completed}). From a reset to then the PG is incomplete: its content is good for nothing but to
 * be copied over.
 *
 * <p>What is logged here is no operation of the history: it has no sequence, and is void when the
 * operation that it follows is dropped. Within the log it stands in order with the operations.
 *
 * <p>Threads as {@link DiskStore#append}, but for {@link #readCopy} and {@link #heads}, which any
 * thread calls.
 */
public interface LearnerStore {
    /**
     * The history goes on from this position, which is committed: the next operation has the
     * sequence after it, and no smaller epoch. The PG is incomplete from now on.
     *
     * @param answered replaces what is known of answered numbers
     * @param distrusted whether nothing of the content counts from now on, as after {@link
     *     #discard}
     * @param done called when it is durable
     * @throws IllegalArgumentException if something here is not committed, or beyond the position
     */
    default void reset(
            int pg,
            long epoch,
            long sequence,
            List<Answered> answered,
            boolean distrusted,
            Runnable done) {
        throw new UnsupportedOperationException();
    }

    /**
     * Nothing of the content counts from now on: the PG lacks everything until it was copied. The
     * history stays; so does what is on the disk, until it is {@link #removeContent removed}.
     *
     * @param done called when it is durable
     * @throws IllegalArgumentException if something here is not committed
     */
    default void discard(int pg, Runnable done) {
        throw new UnsupportedOperationException();
    }

    /**
     * The content of what is up to the key is what the position says, from now on. Void as copies
     * are.
     */
    default void copiedTo(int pg, ContentHead.Key key) {
        throw new UnsupportedOperationException();
    }

    /**
     * The content is what the position says, from now on. Void, as copies are, if the operation
     * that it follows is dropped: so that one must be committed before the replica counts.
     *
     * @param done called when it is durable
     */
    default void completed(int pg, Runnable done) {
        throw new UnsupportedOperationException();
    }

    /**
     * Logs a piece of a chunk's state, read elsewhere as of the operations that are appended here
     * by now. What the chunk has here of the complete sequence is needed as long as the PG is not
     * complete: a copy that is cut off takes nothing of it. Between the pieces of a chunk nothing
     * is appended for it. Read from here at once; the chunk is nobody's until the last piece. The
     * caller has verified the checksums.
     *
     * @param piece its content stays the caller's
     * @param durable called when it is durable, never if it is dropped before
     * @return false if the disk has no room for it: nothing is logged
     * @throws IllegalArgumentException if the PG is complete: the piece comes too late
     */
    default boolean copy(int pg, ChunkCopy piece, Runnable durable) {
        throw new UnsupportedOperationException();
    }

    /**
     * Logs the newest truncation of an inode as a whole, 0 if there is none: to be done before the
     * inode's chunks are copied.
     *
     * @param durable called when it is durable, never if it is dropped before
     * @throws IllegalArgumentException if the PG is complete
     */
    default void copyInode(int pg, long inode, long truncateSequence, Runnable durable) {
        throw new UnsupportedOperationException();
    }

    /**
     * Removes what is here of an inode that the source does not have.
     *
     * @param durable called when it is durable, never if it is dropped before
     * @throws IllegalArgumentException if the PG is complete
     */
    default void removeContent(int pg, long inode, Runnable durable) {
        throw new UnsupportedOperationException();
    }

    /** The newest truncation of an inode as a whole, 0 if none, as of all operations appended. */
    default long inodeTruncateSequence(int pg, long inode) {
        throw new UnsupportedOperationException();
    }

    /**
     * Reads a piece of a chunk's state as of all operations appended so far, every block verified.
     * Between the pieces of a chunk nothing must be appended for it. Calls back on an I/O thread.
     *
     * @param rest what is not read yet
     * @param maxBytes of content, at least a block
     */
    default void readCopy(
            int pg, long inode, int chunk, Rest rest, int maxBytes, CopyCallback callback) {
        throw new UnsupportedOperationException();
    }

    /**
     * What of a chunk is still to be read for a receiver that has everything up to an operation.
     *
     * @param offset where the next piece begins
     * @param since sequence of that operation; 0: it has nothing
     * @param lengthThere of the chunk at the receiver
     */
    record Rest(int offset, long since, int lengthThere) {
        /** Throws IllegalArgumentException if no piece can begin there. */
        public Rest {
            if (offset < 0 || offset % BlockCrc.BLOCK_BYTES != 0 || since < 0) {
                throw new IllegalArgumentException("copy at " + offset + " since " + since);
            }
        }

        public Rest after(ChunkCopy piece) {
            return new Rest(piece.next(), since, lengthThere);
        }

        boolean isFirst() {
            return offset == 0;
        }
    }

    /**
     * What the PG has after the key, in order, each as of some moment during the call; blocks.
     *
     * @param max number of heads; fewer are given only at the end
     */
    default List<ContentHead> heads(int pg, ContentHead.Key after, int max) {
        throw new UnsupportedOperationException();
    }

    /** Blocks of a chunk, as runs of bytes in order. */
    record ChunkChanges(int chunk, List<ChunkCopy.Run> runs) {}

    /**
     * @param chunks those that have changes, in order
     * @param upTo chunks up to this one were looked at
     * @param last nothing follows
     */
    record Changes(List<ChunkChanges> chunks, int upTo, boolean last) {}

    /**
     * Which blocks of an inode's chunks behind a chunk are there and may have been changed by an
     * operation after this one, each chunk as of some moment during the call; blocks.
     *
     * @param after number of a chunk, -1 for all
     * @param since sequence of an operation; 0: all that are there
     * @param max chunks that are looked at
     */
    default Changes changes(int pg, long inode, int after, long since, int max) {
        throw new UnsupportedOperationException();
    }

    /** Receives a piece of a chunk. */
    interface CopyCallback {
        /**
         * @param piece the receiver releases its content; null with a failure
         */
        void done(@Nullable ChunkCopy piece, @Nullable CorruptBlockException failure);
    }
}
