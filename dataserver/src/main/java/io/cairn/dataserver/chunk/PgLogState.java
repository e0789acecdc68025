package io.cairn.dataserver.chunk;

import java.util.List;

/**
 * What a disk knows of a PG's history after recovery.
 *
 * @param lastEpoch epoch of the newest durable operation, 0 if none
 * @param lastSequence sequence of the newest durable operation, 0 if none
 * @param committedSequence every operation up to here is known durable on every in-sync replica
 * @param flushedSequence every operation up to here is in the chunk index and no longer in the WAL
 * @param epochStarts where each epoch began, oldest first; bounded, the oldest are dropped
 * @param answered (session, number) already executed, for exactly-once
 */
public record PgLogState(
        int pg,
        long lastEpoch,
        long lastSequence,
        long committedSequence,
        long flushedSequence,
        List<EpochStart> epochStarts,
        List<Answered> answered) {

    public PgLogState withAnswered(List<Answered> newAnswered) {
        return new PgLogState(
                pg,
                lastEpoch,
                lastSequence,
                committedSequence,
                flushedSequence,
                epochStarts,
                newAnswered);
    }

    public record EpochStart(long epoch, long firstSequence) {}

    /** Numbers of a session below ackedBelow are forgotten and refused when they come again. */
    public record Answered(long session, long ackedBelow, long[] numbers) {}
}
