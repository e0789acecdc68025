package io.cairn.common.data;

/**
 * What a data operation does; the number is in the operation's head, on the wire and in the WAL.
 */
public enum DataOpType {
    /** Replaces bytes of one chunk; creates the chunk. Payload: the bytes. */
    WRITE(1),
    /** Cuts every chunk of an inode in this PG to a file size. Payload: see DataOpFormat. */
    TRUNCATE_INODE(2),
    /** Removes every chunk of up to 4,096 inodes from this PG. Payload: the inode ids, u64 each. */
    DELETE_INODES(3),
    /** Changes nothing; opens a PG epoch in the log. */
    NOOP(4),
    /**
     * Makes another PG of half of this one; opens a PG epoch in the log. Payload: see {@link
     * SplitFormat}.
     */
    SPLIT(5),
    /** Takes in the chunks of another PG, which ends. Payload: see {@link MergeFormat}. */
    MERGE(6),
    /** Reads bytes of one chunk; never logged. */
    READ(16);

    private final int number;

    DataOpType(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }

    /** Throws IllegalArgumentException for an unknown number. */
    public static DataOpType of(int number) {
        for (DataOpType t : values()) {
            if (t.number == number) {
                return t;
            }
        }
        throw new IllegalArgumentException("data operation type " + number + " is unknown");
    }
}
