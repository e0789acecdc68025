package io.cairn.common.layout;

import io.cairn.common.proto.FileLayout;
import org.jspecify.annotations.Nullable;

/**
 * Where the bytes of a file lie. Stripe units go round-robin over a set of {@code stripeCount}
 * chunks until those are full, then over the next set:
 *
 * <pre>
 *   unit u, count 2, chunk size 3u:        chunk 0   chunk 1   chunk 2   chunk 3
 *   units of the file 0 1 2 3 4 5 | 6 ..     0         1         6         7
 *                                            2         3         8         9
 *                                            4         5        10        11
 * </pre>
 *
 * Right for every offset and size up to 2^63-1. Immutable.
 *
 * @param stripeUnit bytes
 * @param stripeCount chunks of a set
 * @param chunkSize bytes
 */
public record Striping(int stripeUnit, int stripeCount, int chunkSize) {
    public Striping {
        @Nullable String wrong = FileLayouts.problem(stripeUnit, stripeCount, chunkSize);
        if (wrong != null) {
            throw new IllegalArgumentException(wrong);
        }
    }

    public static Striping of(FileLayout layout) {
        return new Striping(layout.getStripeUnit(), layout.getStripeCount(), layout.getChunkSize());
    }

    /** Receives the pieces of a range. */
    @FunctionalInterface
    public interface PieceConsumer {
        /**
         * @param chunk number of the chunk within the file
         * @param chunkOffset of the piece's first byte
         * @param length bytes, at least 1
         * @param fileOffset of the piece's first byte
         */
        void piece(long chunk, int chunkOffset, int length, long fileOffset);
    }

    /** Number of the chunk that holds a byte of the file. */
    public long chunkOf(long fileOffset) {
        long unit = fileOffset / stripeUnit;
        long set = unit / stripeCount / unitsPerChunk();
        return set * stripeCount + unit % stripeCount;
    }

    /** Offset of a byte of the file within its chunk. */
    public int chunkOffsetOf(long fileOffset) {
        long stripe = fileOffset / stripeUnit / stripeCount;
        return (int) (stripe % unitsPerChunk()) * stripeUnit + (int) (fileOffset % stripeUnit);
    }

    /**
     * The inverse of the two above.
     *
     * @throws ArithmeticException when no file can have that byte
     */
    public long fileOffsetOf(long chunk, int chunkOffset) {
        long stripe =
                Math.addExact(
                        Math.multiplyExact(chunk / stripeCount, (long) unitsPerChunk()),
                        chunkOffset / stripeUnit);
        long unit =
                Math.addExact(Math.multiplyExact(stripe, (long) stripeCount), chunk % stripeCount);
        return Math.addExact(Math.multiplyExact(unit, (long) stripeUnit), chunkOffset % stripeUnit);
    }

    /**
     * Cuts a range of the file into pieces that each lie in one chunk without a gap, in the order
     * of the file.
     *
     * @param fileOffset not negative; plus length at most 2^63-1
     */
    public void forEachPiece(long fileOffset, long length, PieceConsumer consumer) {
        long at = fileOffset;
        long left = length;
        while (left > 0) {
            int chunkOffset = chunkOffsetOf(at);
            int toEnd =
                    stripeCount == 1
                            ? chunkSize - chunkOffset
                            : stripeUnit - chunkOffset % stripeUnit;
            int piece = (int) Math.min(left, toEnd);
            consumer.piece(chunkOf(at), chunkOffset, piece, at);
            at += piece;
            left -= piece;
        }
    }

    /**
     * Bytes of a chunk that belong to a file of that size: where a truncation to the size cuts the
     * chunk.
     */
    public int chunkLength(long fileSize, long chunk) {
        long setBytes = (long) stripeCount * chunkSize;
        long set = chunk / stripeCount;
        long wholeSets = fileSize / setBytes;
        if (set != wholeSets) {
            return set < wholeSets ? chunkSize : 0;
        }
        long rest = fileSize % setBytes;
        long stripeBytes = (long) stripeUnit * stripeCount;
        long before = chunk % stripeCount * stripeUnit;
        long inLastStripe = Math.clamp(rest % stripeBytes - before, 0, stripeUnit);
        return (int) (rest / stripeBytes * stripeUnit + inLastStripe);
    }

    /** How many chunks a file of that size has; they are numbered from 0 without gap. */
    public long chunkCount(long fileSize) {
        long setBytes = (long) stripeCount * chunkSize;
        long rest = fileSize % setBytes;
        long inLastSet = Math.min(stripeCount, (rest + stripeUnit - 1) / stripeUnit);
        return fileSize / setBytes * stripeCount + inLastSet;
    }

    private int unitsPerChunk() {
        return chunkSize / stripeUnit;
    }
}
