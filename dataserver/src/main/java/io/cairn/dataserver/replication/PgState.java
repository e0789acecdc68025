package io.cairn.dataserver.replication;

/**
 * What a PG replica is doing.
 *
 * <pre>
 *            new epoch, primary                        NOOP committed
 *   IDLE ───────────────────► QUERYING ─► FETCHING ─► RESENDING ─────► ACTIVE
 *     │                          ▲  └────────────────────▲               │
 *     │ new epoch, backup        └───────── new epoch, from any ─────────┘
 *     └──────────► BACKUP                 any ──► DAMAGED (a member lost what was durable)
 * </pre>
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
    DAMAGED
}
