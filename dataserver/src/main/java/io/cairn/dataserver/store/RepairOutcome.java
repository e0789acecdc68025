package io.cairn.dataserver.store;

/** What became of a {@link BlockRepair}. */
public enum RepairOutcome {
    /** The content is durable in the WAL, and read from there until it is on the disk. */
    LOGGED,
    /** The chunk has another version by now, or no such block: read the block again. */
    CHANGED,
    /** The content is not what the index says the block must have: never written. */
    DIFFERENT,
    /**
     * The content is not what the index says, and need not be: the PG lacks operations on the
     * chunk, which was written to since. The copy that brings them brings the block. Never written.
     */
    LACKING,
    /** The disk is full. */
    NO_SPACE
}
