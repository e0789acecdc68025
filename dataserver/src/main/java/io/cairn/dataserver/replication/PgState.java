package io.cairn.dataserver.replication;

/**
 * What a PG replica is doing.
 *
 * <pre>
 *            new epoch, primary                        NOOP committed
 *   IDLE ───────────────────► QUERYING ─► FETCHING ─► RESENDING ─────► ACTIVE
 *     │                          ▲  └────────────────────▲               │
 *     │ new epoch, backup        └───────── new epoch, from any ─────────┘
 *     └──────────► BACKUP
 *
 *   QUERYING, FETCHING, RESENDING, ACTIVE ──► DAMAGED   a member lost what was durable
 *   any ──► IDLE                                        neither primary nor backup any more
 * </pre>
 *
 * {@link #mayBecome} is this diagram for code.
 */
public enum PgState {
    /** Not a member in the map this server has. */
    IDLE,
    /** Follows the primary. */
    BACKUP,
    /** Primary: waits for every member's history. */
    QUERYING,
    /** Primary: another member's history is longer; takes over what it lacks. */
    FETCHING,
    /** Primary: sends members what they lack, until the epoch's NOOP is committed. */
    RESENDING,
    /** Primary: serves. */
    ACTIVE,
    /** Histories contradict each other: refuses to serve rather than to guess. */
    DAMAGED;

    /** Whether there is an arrow from this state to the next one. */
    boolean mayBecome(PgState next) {
        return switch (next) {
            case IDLE, QUERYING -> true;
            case BACKUP -> this == IDLE;
            case FETCHING -> this == QUERYING;
            case RESENDING -> this == QUERYING || this == FETCHING;
            case ACTIVE -> this == RESENDING;
            case DAMAGED ->
                    this == QUERYING || this == FETCHING || this == RESENDING || this == ACTIVE;
        };
    }
}
