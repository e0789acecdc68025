package io.cairn.dataserver.chunk;

import io.cairn.dataserver.wal.Completeness;
import java.util.List;

/**
 * What a disk knows of a PG's history after recovery.
 *
 * @param lastEpoch epoch of the newest durable operation, 0 if none
 * @param lastSequence sequence of the newest durable operation, 0 if none
 * @param committedSequence every operation up to here is known durable on every in-sync replica
 * @param flushedSequence every operation up to here is in the chunk index and no longer needed in
 *     the WAL, but for the deferred ones
 * @param epochStarts where each epoch began, oldest first; bounded, the oldest are dropped
 * @param answered (session, number) already executed, for exactly-once
 * @param deferred operations up to the flushed one that are not in the chunk index, because a block
 *     that they need is damaged; as epoch and sequence, steps of a learner as 0 and number
 * @param content how much there is of it
 * @param steps number of the newest step of a learner in the chunk index; 0 outside of it
 */
public record PgLogState(
        int pg,
        long lastEpoch,
        long lastSequence,
        long committedSequence,
        long flushedSequence,
        List<EpochStart> epochStarts,
        List<Answered> answered,
        List<ChunkVersion> deferred,
        Completeness content,
        long steps) {

    /** Complete, with nothing deferred. */
    public PgLogState(
            int pg,
            long lastEpoch,
            long lastSequence,
            long committedSequence,
            long flushedSequence,
            List<EpochStart> epochStarts,
            List<Answered> answered) {
        this(
                pg,
                lastEpoch,
                lastSequence,
                committedSequence,
                flushedSequence,
                epochStarts,
                answered,
                List.of(),
                Completeness.ALL,
                0);
    }

    /** Of a PG of which nothing is known. */
    public static PgLogState empty(int pg) {
        return new PgLogState(pg, 0, 0, 0, 0, List.of(), List.of());
    }

    /** Whether nothing of it was ever committed: what there is of it is in the log only. */
    public boolean isNeverCommitted() {
        return committedSequence == 0 && (content.isAll() || content.isNothing());
    }

    /** Whether the content is what the position says. */
    public boolean isComplete() {
        return content.isAll();
    }

    public PgLogState withAnswered(List<Answered> newAnswered) {
        return new PgLogState(
                pg,
                lastEpoch,
                lastSequence,
                committedSequence,
                flushedSequence,
                epochStarts,
                newAnswered,
                deferred,
                content,
                steps);
    }

    public record EpochStart(long epoch, long firstSequence) {}

    /** Numbers of a session below ackedBelow are forgotten and refused when they come again. */
    public record Answered(long session, long ackedBelow, long[] numbers) {}
}
