package io.cairn.common.rpc;

/** What the caller should do about a failed call; travels beside the errno in every reply. */
public enum Advice {
    /** The answer is final. */
    GIVE_UP,
    /** Send the same request (same session and number) again after a back-off. */
    RETRY,
    /** Get a newer cluster map, then send the same request again. */
    REFRESH_MAP,
    /** Get the inode's attributes (truncate sequences) again, then send a new request. */
    REFRESH_INODE,
    /** Ask another MDS member: the detail names the leader's address, or is empty. */
    NOT_LEADER,
    /** The session is evicted: nothing of it will ever be accepted again. */
    FENCED;

    private static final Advice[] VALUES = values();

    /** The constant of an ordinal received from elsewhere; {@link #GIVE_UP} for an unknown one. */
    public static Advice of(int ordinal) {
        return ordinal >= 0 && ordinal < VALUES.length ? VALUES[ordinal] : GIVE_UP;
    }
}
