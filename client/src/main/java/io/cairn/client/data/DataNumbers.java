package io.cairn.client.data;

/**
 * The numbers of a session's data mutations: one sequence over all PGs, each number outstanding
 * from {@link #begin} to {@link #end}. Data servers forget, and from then on refuse, what lies
 * below the lowest outstanding number. Any thread.
 */
public final class DataNumbers {
    private long lowest = 1;
    private long next = 1;

    /** Bit n & mask is set when n has ended though a lower number has not. */
    private long[] ended = new long[4];

    /** The next number, outstanding from now on. */
    public synchronized long begin() {
        if (next - lowest == ended.length * 64L) {
            grow();
        }
        return next++;
    }

    /** The number is answered, or given up for good. */
    public synchronized void end(long number) {
        if (number < lowest || number >= next) {
            throw new IllegalArgumentException(
                    "data number " + number + " is not outstanding: " + lowest + " to " + next);
        }
        set(ended, number);
        while (lowest < next && isSet(lowest)) {
            clear(lowest);
            lowest++;
        }
    }

    /** Every number below this one has ended. */
    public synchronized long ackedBelow() {
        return lowest;
    }

    private void grow() {
        long[] larger = new long[ended.length * 2];
        for (long n = lowest; n < next; n++) {
            if (isSet(n)) {
                set(larger, n);
            }
        }
        ended = larger;
    }

    private boolean isSet(long number) {
        return (ended[word(ended, number)] & 1L << number) != 0;
    }

    private void clear(long number) {
        ended[word(ended, number)] &= ~(1L << number);
    }

    private static void set(long[] bits, long number) {
        bits[word(bits, number)] |= 1L << number;
    }

    private static int word(long[] bits, long number) {
        return (int) (number >>> 6) & bits.length - 1;
    }
}
