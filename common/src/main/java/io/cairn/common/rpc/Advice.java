package io.cairn.common.rpc;

/** What the caller should do about a failed call; travels beside the errno in every reply. */
public enum Advice {
    /** The answer is final. */
    GIVE_UP(0),
    /** Send the same request (same session and number) again after a back-off. */
    RETRY(1),
    /** Get a newer cluster map, then send the same request again. */
    REFRESH_MAP(2),
    /** Get the inode's attributes (truncate sequences) again, then send a new request. */
    REFRESH_INODE(3),
    /** Ask another MDS member: the detail names the leader's address, or is empty. */
    NOT_LEADER(4),
    /** The session is evicted: nothing of it will ever be accepted again. */
    FENCED(5);

    private final int number;

    Advice(int number) {
        this.number = number;
    }

    /** On the wire. */
    public int number() {
        return number;
    }

    /** The constant of a number received from elsewhere; {@link #GIVE_UP} for an unknown one. */
    public static Advice of(int number) {
        for (Advice advice : values()) {
            if (advice.number == number) {
                return advice;
            }
        }
        return GIVE_UP;
    }
}
