package io.cairn.dataserver.wal;

/**
 * How much of its content a PG has. What is missing is copied in the order of heads; a copy that is
 * cut off has come to some key, and up to there a later one needs only what was changed since (as
 * the {@code last_backfill} of Ceph's placement groups).
 *
 * @param sequence the content is that of the history up to here, but for chunks that were copied
 *     since, and has all operations after the last reset; {@link #COMPLETE} if it is what the
 *     position says
 * @param copiedInode of the key
 * @param copiedChunk of the key; -1 for the inode as a whole, less if nothing was copied
 * @param copiedSequence the same as {@code sequence}, of what is up to the key; {@link #COMPLETE}
 *     if all of that is what the position says
 */
public record Completeness(long sequence, long copiedInode, int copiedChunk, long copiedSequence) {

    /** Nothing is missing. */
    public static final long COMPLETE = Long.MAX_VALUE;

    public static final Completeness ALL = upTo(COMPLETE);
    public static final Completeness NOTHING = upTo(0);

    /** Chunk of the key before all others. */
    private static final int BEFORE_INODE = -2;

    /** Nothing was copied. */
    public static Completeness upTo(long sequence) {
        return new Completeness(sequence, 0, BEFORE_INODE, sequence);
    }

    public boolean isAll() {
        return sequence == COMPLETE;
    }

    public boolean isNothing() {
        return sequence == 0 && !hasCopied();
    }

    /** Whether there is a key. */
    public boolean hasCopied() {
        return copiedInode != 0 || copiedChunk != BEFORE_INODE;
    }

    /** Up to which operation the PG has what there is of the chunk, or of the inode. */
    public long of(long inode, int chunk) {
        return compareToKey(inode, chunk) <= 0 ? copiedSequence : sequence;
    }

    /** What is up to this key is what the position says. */
    public Completeness copiedTo(long inode, int chunk) {
        Completeness then = new Completeness(sequence, inode, chunk, COMPLETE);
        boolean saysMore = !isAll() && compareToKey(inode, chunk) >= 0 && then.hasCopied();
        return saysMore ? then : this;
    }

    /** Operations after this one are missing from now on, until all was copied. */
    public Completeness lackingAfter(long last) {
        return new Completeness(
                Math.min(sequence, last), copiedInode, copiedChunk, Math.min(copiedSequence, last));
    }

    /**
     * What is left when the history goes on from a later position than the last operation here.
     *
     * @param distrusted whether nothing counts of what is here
     */
    public Completeness afterReset(long last, boolean distrusted) {
        return distrusted ? NOTHING : lackingAfter(last);
    }

    private int compareToKey(long inode, int chunk) {
        int byInode = Long.compareUnsigned(inode, copiedInode);
        return byInode != 0 ? byInode : Integer.compare(chunk, copiedChunk);
    }
}
