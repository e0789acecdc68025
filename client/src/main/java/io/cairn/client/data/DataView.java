package io.cairn.client.data;

import io.cairn.common.data.DataOp;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.layout.Striping;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Truncation;
import java.util.ArrayList;
import java.util.List;

/**
 * What of an inode's attributes decides where its bytes are and what a data request must say:
 * layout, truncations, ceiling. Immutable.
 *
 * @param truncateSequence newest shrink known
 * @param pending shrinks not yet applied everywhere, oldest first
 * @param ceiling no chunk data exists at or beyond it, bytes
 */
public record DataView(
        int pool,
        Striping striping,
        long maxFileBytes,
        long truncateSequence,
        List<Truncation> pending,
        long ceiling) {
    /** Longer ranges travel in several requests, so that one does not hold up a connection. */
    private static final int MAX_PIECE_BYTES = 1 << 20;

    /**
     * @param attr of a regular file
     */
    public static DataView of(Attr attr) {
        return new DataView(
                attr.getLayout().getPool(),
                Striping.of(attr.getLayout()),
                FileLayouts.maxFileSize(attr.getLayout()),
                attr.getTruncateSequence(),
                List.copyOf(attr.getPendingTruncationsList()),
                attr.getSizeCeiling());
    }

    /** Whether the attributes say the same, so that the view may stay. */
    public boolean describes(Attr attr) {
        return attr.getSizeCeiling() == ceiling
                && attr.getTruncateSequence() == truncateSequence
                && attr.getPendingTruncationsList().equals(pending)
                && attr.getLayout().getPool() == pool
                && attr.getLayout().getStripeUnit() == striping.stripeUnit()
                && attr.getLayout().getStripeCount() == striping.stripeCount()
                && attr.getLayout().getChunkSize() == striping.chunkSize();
    }

    public int chunk(long fileOffset) {
        return (int) striping.chunkOf(fileOffset);
    }

    public int offsetInChunk(long fileOffset) {
        return striping.chunkOffsetOf(fileOffset);
    }

    /** How many of the bytes from an offset of the file on travel in one request, at least 1. */
    public int pieceLength(long fileOffset, long left) {
        int inChunk = striping.chunkOffsetOf(fileOffset);
        int toEnd =
                striping.stripeCount() == 1
                        ? striping.chunkSize() - inChunk
                        : striping.stripeUnit() - inChunk % striping.stripeUnit();
        int toBoundary = MAX_PIECE_BYTES - inChunk % MAX_PIECE_BYTES;
        return (int) Math.min(left, Math.min(toEnd, toBoundary));
    }

    /** The pending shrinks as one chunk sees them. */
    public List<DataOp.Cut> cuts(int chunk) {
        if (pending.isEmpty()) {
            return List.of();
        }
        List<DataOp.Cut> cuts = new ArrayList<>(pending.size());
        for (Truncation t : pending) {
            cuts.add(new DataOp.Cut(t.getSequence(), striping.chunkLength(t.getSize(), chunk)));
        }
        return cuts;
    }

    /** Bytes of one set of chunks: what the ceiling is raised in multiples of. */
    public long rowBytes() {
        return (long) striping.stripeCount() * striping.chunkSize();
    }
}
