package io.cairn.dataserver.pg;

/**
 * Where a configured disk stands.
 *
 * <pre>
 *   OPENING ──► SERVING ──► OUT
 *      │                     ▲
 *      └─────────────────────┘
 * </pre>
 *
 * A disk that is out stays out until its server is started again: only the start of a process gives
 * its placement groups a new epoch.
 */
public enum DiskPhase {
    /** Its parts are checked and its log is recovered. */
    OPENING,
    /** Its placement groups take part. */
    SERVING,
    /** It did not open, or failed: nothing of it is read or acknowledged any more. */
    OUT;

    boolean mayBecome(DiskPhase next) {
        return next.ordinal() > ordinal();
    }
}
