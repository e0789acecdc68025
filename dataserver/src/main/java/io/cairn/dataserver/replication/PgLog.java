package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.wal.Completeness;
import java.util.ArrayList;
import java.util.List;

/**
 * The positions in one replica's own history: appended, durable, committed, and which epoch each
 * uncommitted operation belongs to. The operations themselves are in the store. Owner's thread
 * only.
 */
final class PgLog {
    /**
     * Of epochs before the last committed operation: learners that were away say what they have.
     */
    private static final int KEPT_STARTS = 64;

    private final List<EpochStart> starts;
    private long lastEpoch;
    private long lastSequence;
    private long durable;
    private long committed;
    private Completeness content;
    private boolean dropping;

    PgLog(PgLogState state) {
        starts = new ArrayList<>(state.epochStarts());
        lastEpoch = state.lastEpoch();
        lastSequence = state.lastSequence();
        durable = lastSequence;
        committed = state.committedSequence();
        content = state.content();
        if (starts.isEmpty() && lastSequence > 0) {
            starts.add(new EpochStart(lastEpoch, lastSequence));
        }
    }

    long lastEpoch() {
        return lastEpoch;
    }

    long lastSequence() {
        return lastSequence;
    }

    long durable() {
        return durable;
    }

    long committed() {
        return committed;
    }

    boolean allDurable() {
        return durable == lastSequence;
    }

    void appended(long epoch, long sequence) {
        if (sequence != lastSequence + 1 || epoch < lastEpoch) {
            throw new IllegalStateException(
                    "operation (%d, %d) cannot follow (%d, %d)"
                            .formatted(epoch, sequence, lastEpoch, lastSequence));
        }
        if (epoch != lastEpoch) {
            starts.add(new EpochStart(epoch, sequence));
            lastEpoch = epoch;
        }
        lastSequence = sequence;
    }

    /** Returns false if the operation was dropped before it became durable. */
    boolean becameDurable(long epoch, long sequence) {
        if (sequence <= durable || epochAt(sequence) != epoch) {
            return false;
        }
        durable = sequence;
        return true;
    }

    void committedUpTo(long sequence) {
        committed = sequence;
        while (starts.size() > KEPT_STARTS && starts.get(1).firstSequence() <= committed) {
            starts.removeFirst();
        }
    }

    /** The store is dropping the tail: until it has, nothing may be appended or reported. */
    boolean dropping() {
        return dropping;
    }

    void dropStarted() {
        dropping = true;
    }

    /**
     * @param left what there is of the content: what was copied after an operation that is dropped
     *     is gone with it
     */
    void dropped(long kept, Completeness left) {
        dropping = false;
        content = left;
        if (kept < committed) {
            throw new IllegalStateException(
                    "operations after " + kept + " are committed up to " + committed);
        }
        lastEpoch = epochAt(kept);
        lastSequence = kept;
        durable = Math.min(durable, kept);
        starts.removeIf(s -> s.firstSequence() > kept);
    }

    /**
     * The history goes on from there; the operations before are missing, and the content of what
     * they changed with them.
     *
     * @param distrusted whether nothing of the content counts
     */
    void reset(long epoch, long sequence, boolean distrusted) {
        content = content.afterReset(lastSequence, distrusted);
        lastEpoch = epoch;
        lastSequence = sequence;
        durable = sequence;
        committed = sequence;
        starts.clear();
        starts.add(new EpochStart(epoch, sequence));
    }

    /** The content is what the history says. */
    void complete() {
        content = Completeness.ALL;
    }

    /** What is up to the key is what the history says. */
    void copiedTo(Key key) {
        content = content.copiedTo(key.inode(), key.chunk());
    }

    Completeness content() {
        return content;
    }

    long epochAt(long sequence) {
        if (sequence == lastSequence) {
            return lastEpoch;
        }
        if (sequence == 0) {
            return 0;
        }
        if (sequence < lastSequence) {
            for (int i = starts.size() - 1; i >= 0; i--) {
                if (starts.get(i).firstSequence() <= sequence) {
                    return starts.get(i).epoch();
                }
            }
        }
        return PgHistory.NONE;
    }

    PgHistory history() {
        return new PgHistory(lastEpoch, lastSequence, committed, starts, content);
    }
}
