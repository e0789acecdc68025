package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.wal.LearnerStep;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the index calls deferred, as recovery finds it in the log, in any order and perhaps more
 * than once, see {@link CarryForward}. Under the monitor of its {@link PgStore}.
 */
final class DeferredFound {
    private final Set<ChunkVersion> missing;
    private final TreeMap<Place, LoggedOp> found = new TreeMap<>();

    /** Place of an operation, or of a step behind it, in the history. */
    private record Place(long sequence, long step) implements Comparable<Place> {
        static Place of(LoggedOp o) {
            LearnerStep step = o.step();
            return new Place(o.sequence(), step == null ? 0 : step.number());
        }

        @Override
        public int compareTo(Place o) {
            int bySequence = Long.compare(sequence, o.sequence);
            return bySequence != 0 ? bySequence : Long.compare(step, o.step);
        }
    }

    /**
     * @param deferred by their names
     */
    DeferredFound(Collection<ChunkVersion> deferred) {
        missing = new HashSet<>(deferred);
    }

    /**
     * Takes a deferred one; false if it is none. Of several records of one the newest counts: the
     * others are in the way.
     */
    boolean take(LoggedOp op) {
        Place place = Place.of(op);
        LoggedOp before = found.get(place);
        boolean again = before != null && before.name().equals(op.name());
        boolean deferred = missing.remove(op.name()) || again;
        if (deferred) {
            found.put(place, op);
        }
        return deferred;
    }

    /**
     * All of them in the order of the history, when all of the log was told.
     *
     * @throws DiskOpenException if one is missing
     */
    List<LoggedOp> all(int pg) throws DiskOpenException {
        if (!missing.isEmpty()) {
            throw new DiskOpenException(
                    String.format(
                            "PG %x: the log lacks %s, which the index needs; %s",
                            pg, missing, DiskOpenException.KEEP_AS_IT_IS));
        }
        List<LoggedOp> all = List.copyOf(found.values());
        found.clear();
        return all;
    }
}
