package io.cairn.dataserver.store;

/**
 * A stored block cannot be read or does not match its checksum: never served, to be repaired from a
 * replica.
 */
public final class CorruptBlockException extends Exception {
    private static final long serialVersionUID = 1;

    /** The block is not known: it cannot be repaired. */
    public static final int UNKNOWN = -1;

    private final int block;

    public CorruptBlockException(String where) {
        this(where, UNKNOWN);
    }

    /**
     * @param block of the chunk, the first one that is bad
     */
    public CorruptBlockException(String where, int block) {
        super(where);
        this.block = block;
    }

    /** Number of the first bad block within its chunk. */
    public int block() {
        return block;
    }
}
