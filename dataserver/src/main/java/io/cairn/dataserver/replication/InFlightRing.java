package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The uncommitted operations of a primary, consecutive by sequence. Owner's thread only. */
final class InFlightRing {
    private @Nullable InFlight[] slots = new @Nullable InFlight[16];
    private long first;
    private int size;

    /** Empty, and the next operation added has this sequence. */
    InFlightRing(long nextSequence) {
        first = nextSequence;
    }

    int size() {
        return size;
    }

    /** Sequence of the oldest operation, or of the next one if there is none. */
    long first() {
        return first;
    }

    long next() {
        return first + size;
    }

    void add(InFlight op) {
        require(op, next());
        if (size == slots.length) {
            grow();
        }
        slots[index(next())] = op;
        size++;
    }

    /** Puts an operation before the oldest one. */
    void addFirst(InFlight op) {
        require(op, first - 1);
        if (size == slots.length) {
            grow();
        }
        first--;
        slots[index(first)] = op;
        size++;
    }

    @Nullable InFlight get(long sequence) {
        return sequence < first || sequence >= next() ? null : slots[index(sequence)];
    }

    InFlight removeFirst() {
        InFlight op = take(first);
        first++;
        return op;
    }

    InFlight removeLast() {
        return take(next() - 1);
    }

    /** The next operation will be this one; only when empty. */
    void restart(long nextSequence) {
        if (size != 0) {
            throw new IllegalStateException(size + " operations are in flight");
        }
        first = nextSequence;
    }

    /** All, oldest first. */
    void forEach(Consumer<InFlight> action) {
        for (long s = first; s < next(); s++) {
            InFlight op = slots[index(s)];
            if (op != null) {
                action.accept(op);
            }
        }
    }

    /** Sequence of the newest operation the read could have seen, 0 if none. */
    long newestOverlap(DataOp read) {
        for (long s = next() - 1; s >= first; s--) {
            InFlight op = slots[index(s)];
            if (op != null && op.overlaps(read)) {
                return s;
            }
        }
        return 0;
    }

    private InFlight take(long sequence) {
        InFlight op = slots[index(sequence)];
        if (size == 0 || op == null) {
            throw new IllegalStateException("nothing is in flight");
        }
        slots[index(sequence)] = null;
        size--;
        return op;
    }

    private static void require(InFlight op, long sequence) {
        if (op.entry.sequence() != sequence) {
            throw new IllegalStateException(
                    "operation " + op.entry.sequence() + " where " + sequence + " belongs");
        }
    }

    private int index(long sequence) {
        return (int) sequence & (slots.length - 1);
    }

    private void grow() {
        @Nullable InFlight[] old = slots;
        slots = Arrays.copyOf(new @Nullable InFlight[0], old.length * 2);
        for (long s = first; s < first + size; s++) {
            slots[index(s)] = old[(int) s & (old.length - 1)];
        }
    }
}
