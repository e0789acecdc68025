package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.wal.Completeness;
import java.util.List;

/**
 * What a member says about its history of a PG: which epoch each uncommitted operation has.
 * Immutable.
 *
 * @param epochStarts where epochs began, oldest first; covers everything after committedSequence,
 *     and some of what is before it
 * @param content how much the member has of what the history says
 */
public record PgHistory(
        long lastEpoch,
        long lastSequence,
        long committedSequence,
        List<EpochStart> epochStarts,
        Completeness content) {

    /** Answer of {@link #commonSequence} when the histories cannot belong to one PG. */
    public static final long NONE = -1;

    public PgHistory {
        epochStarts = List.copyOf(epochStarts);
    }

    /** Of a member that has all content. */
    public PgHistory(
            long lastEpoch, long lastSequence, long committedSequence, List<EpochStart> starts) {
        this(lastEpoch, lastSequence, committedSequence, starts, Completeness.ALL);
    }

    /** Whether the member has all content that its history says. */
    public boolean isComplete() {
        return content.isAll();
    }

    /** True if this history goes on after the other one ends: it wins peering. */
    public boolean longerThan(PgHistory other) {
        return lastEpoch != other.lastEpoch
                ? lastEpoch > other.lastEpoch
                : lastSequence > other.lastSequence;
    }

    /** Epoch of the operation with this sequence; 0 before the first, {@link #NONE} if unknown. */
    public long epochAt(long sequence) {
        if (sequence == 0) {
            return 0;
        }
        if (sequence > lastSequence) {
            return NONE;
        }
        for (int i = epochStarts.size() - 1; i >= 0; i--) {
            if (epochStarts.get(i).firstSequence() <= sequence) {
                return epochStarts.get(i).epoch();
            }
        }
        return NONE;
    }

    /**
     * The last sequence up to which both are the same. (epoch, sequence) names one operation and
     * all before it, because only the primary of an epoch gives sequences in it; and what one
     * member knows committed every member has.
     *
     * @return {@link #NONE} if one lacks what the other knows committed, or nothing proves a common
     *     point: something durable was lost
     */
    public long commonSequence(PgHistory other) {
        long floor = Math.max(committedSequence, other.committedSequence);
        long top = Math.min(lastSequence, other.lastSequence);
        if (top < floor) {
            return NONE;
        }
        for (long s = top; s > floor; s--) {
            long epoch = epochAt(s);
            if (epoch == NONE) {
                return NONE;
            }
            if (epoch == other.epochAt(s)) {
                return s;
            }
        }
        return floor;
    }

    /**
     * The last operation of this history that the other one has too, as far as that is known; at
     * least what is known committed here. The other one may have committed far more.
     */
    public long sharedWith(PgHistory other) {
        for (long s = Math.min(lastSequence, other.lastSequence); s > committedSequence; s--) {
            long epoch = other.epochAt(s);
            if (epoch == NONE) {
                break;
            }
            if (epoch == epochAt(s)) {
                return s;
            }
        }
        return committedSequence;
    }
}
