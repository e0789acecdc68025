package io.cairn.dataserver.store;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * What each operation made of the units of one chunk: filled with its own number, or with zeros.
 * Written by one thread, which tells of each operation before it appends it and after; checked by
 * any.
 */
final class UnitHistory {
    static final int UNIT_BYTES = 2048;
    static final int UNITS = 64;
    static final int CHUNK_BYTES = UNITS * UNIT_BYTES;

    /** By unit: the operations that changed it, with what it has from then on. */
    private final List<NavigableMap<Integer, Integer>> values = new ArrayList<>();

    private volatile int begun;
    private volatile int appended;

    UnitHistory() {
        for (int u = 0; u < UNITS; u++) {
            NavigableMap<Integer, Integer> nothing = new ConcurrentSkipListMap<>();
            nothing.put(0, 0);
            values.add(nothing);
        }
    }

    void fill(int sequence, int from, int to) {
        set(sequence, from, to, sequence);
    }

    void cut(int sequence, int from) {
        set(sequence, from, UNITS, 0);
    }

    private void set(int sequence, int from, int to, int value) {
        for (int u = from; u < to; u++) {
            values.get(u).put(sequence, value);
        }
    }

    /** All that it does is told. */
    void begins(int sequence) {
        begun = sequence;
    }

    void appended(int sequence) {
        appended = sequence;
    }

    int appended() {
        return appended;
    }

    /**
     * Whether a read shows the chunk as it was after one operation.
     *
     * @param bytes what was read, from that unit on; what is missing at the end is zeros
     * @param oldest appended when the read began
     */
    void check(byte[] bytes, int first, int count, int oldest) {
        int newest = begun;
        int[] seen = new int[count];
        for (int i = 0; i < count; i++) {
            seen[i] = value(bytes, first, i);
        }
        for (int n = oldest; n <= newest; n++) {
            if (differing(seen, first, n) < 0) {
                return;
            }
        }
        String message = "units %d to %d are as after none of the operations %d to %d: %s; %s";
        throw new AssertionError(
                message.formatted(
                        first,
                        first + count - 1,
                        oldest,
                        newest,
                        difference(seen, first, oldest),
                        difference(seen, first, newest)));
    }

    private static int value(byte[] bytes, int first, int i) {
        int from = i * UNIT_BYTES;
        if (from >= bytes.length) {
            return 0;
        }
        ByteBuffer unit = ByteBuffer.wrap(bytes, from, UNIT_BYTES);
        int value = unit.getInt();
        while (unit.hasRemaining()) {
            if (unit.getInt() != value) {
                throw new AssertionError("unit " + (first + i) + " is torn");
            }
        }
        return value;
    }

    private int expected(int unit, int sequence) {
        return Objects.requireNonNull(values.get(unit).floorEntry(sequence)).getValue();
    }

    /** The first unit that is not as it was after the operation; -1 if all are. */
    private int differing(int[] seen, int first, int sequence) {
        for (int i = 0; i < seen.length; i++) {
            if (seen[i] != expected(first + i, sequence)) {
                return i;
            }
        }
        return -1;
    }

    private String difference(int[] seen, int first, int sequence) {
        int i = differing(seen, first, sequence);
        return "unit %d has %d, after %d it had %d"
                .formatted(first + i, seen[i], sequence, expected(first + i, sequence));
    }
}
