package io.cairn.common.layout;

import io.cairn.common.proto.FileLayout;
import org.jspecify.annotations.Nullable;

/** Limits and the default of file layouts. Stateless. */
public final class FileLayouts {
    /** Stripe units and chunk sizes are multiples of it: the unit of checksums. */
    public static final int GRAIN = 4096;

    public static final int MAX_CHUNK_SIZE = 64 << 20;
    public static final int MAX_STRIPE_COUNT = 1024;

    /** Chunk numbers of a file are below it: they are non-negative ints in data operations. */
    public static final long MAX_CHUNKS = 1L << 31;

    public static final int DEFAULT_CHUNK_SIZE = 4 << 20;

    private FileLayouts() {}

    /** Whole chunks, one after the other. */
    public static FileLayout standard(int pool) {
        return FileLayout.newBuilder()
                .setPool(pool)
                .setStripeUnit(DEFAULT_CHUNK_SIZE)
                .setStripeCount(1)
                .setChunkSize(DEFAULT_CHUNK_SIZE)
                .build();
    }

    /** Up to here, in bytes, a client writes a new file without asking. */
    public static long firstCeiling(FileLayout layout) {
        return Integer.toUnsignedLong(layout.getChunkSize()) * layout.getStripeCount();
    }

    /** What makes a layout impossible, as a sentence for users, or null. */
    public static @Nullable String problem(FileLayout layout) {
        return problem(layout.getStripeUnit(), layout.getStripeCount(), layout.getChunkSize());
    }

    /** Likewise; the arguments are unsigned. */
    public static @Nullable String problem(int stripeUnit, int stripeCount, int chunkSize) {
        if (chunkSize <= 0 || chunkSize > MAX_CHUNK_SIZE || chunkSize % GRAIN != 0) {
            return "chunk size "
                    + Integer.toUnsignedString(chunkSize)
                    + " is not a multiple of "
                    + GRAIN
                    + " from "
                    + GRAIN
                    + " to "
                    + MAX_CHUNK_SIZE;
        }
        if (stripeUnit <= 0 || stripeUnit % GRAIN != 0 || chunkSize % stripeUnit != 0) {
            return "stripe unit "
                    + Integer.toUnsignedString(stripeUnit)
                    + " is not a multiple of "
                    + GRAIN
                    + " that divides the chunk size "
                    + chunkSize;
        }
        if (stripeCount <= 0 || stripeCount > MAX_STRIPE_COUNT) {
            return "stripe count "
                    + Integer.toUnsignedString(stripeCount)
                    + " is not from 1 to "
                    + MAX_STRIPE_COUNT;
        }
        return null;
    }

    /** Bytes a file of this layout can have at most: beyond is EFBIG. */
    public static long maxFileSize(FileLayout layout) {
        // A whole number of sets of stripeCount chunks.
        long sets = MAX_CHUNKS / layout.getStripeCount();
        return sets * layout.getStripeCount() * layout.getChunkSize();
    }
}
