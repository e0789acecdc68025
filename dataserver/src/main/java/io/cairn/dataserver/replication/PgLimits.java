package io.cairn.dataserver.replication;

/**
 * Bounds and intervals of one PG replica.
 *
 * @param maxInFlightOps uncommitted operations a primary holds; above, clients retry
 * @param maxInFlightBytes likewise, of what they may take on a disk
 * @param maxNumbersPerSession answered numbers kept for a session that acknowledges none
 * @param resendNanos without progress for this long, a primary sends again; a lost connection is
 *     reported and needs no such wait
 * @param askNanos how often a question of peering is repeated until it is answered, and backups are
 *     asked for their space
 * @param unreachableNanos when a member that is waited for answers no question for so long, the
 *     metadata service is told: it may be cut off from this server only
 * @param silentNanos when a member that is waited for answers questions, but has neither taken nor
 *     refused what it was sent for so long, the metadata service is told: its disk may hang
 */
public record PgLimits(
        int maxInFlightOps,
        long maxInFlightBytes,
        int maxNumbersPerSession,
        long resendNanos,
        long askNanos,
        long unreachableNanos,
        long silentNanos) {
    public static final PgLimits DEFAULT =
            new PgLimits(
                    4096,
                    32L << 20,
                    8192,
                    30_000_000_000L,
                    250_000_000L,
                    1_500_000_000L,
                    3_000_000_000L);
}
