package io.cairn.client.fake;

/** What a fake server does with one request. */
public enum Fault {
    NONE,
    /** Does nothing and cuts the connection. */
    CUT_BEFORE,
    /** Does it, answers nobody and cuts the connection. */
    CUT_AFTER,
    /** Refuses with advice RETRY. */
    RETRY,
    /** Refuses with advice REFRESH_MAP. */
    REFRESH_MAP,
    /** Reads: flips a bit of the payload. */
    CORRUPT,
    /** Keeps the request until it is let go. */
    HOLD,
    /** Refuses for want of space. */
    FULL,
    /** Answers with what is true now, when it is let go. */
    LATE,
    /** Refuses for ever, with EINVAL. */
    REFUSE
}
