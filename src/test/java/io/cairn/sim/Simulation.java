package io.cairn.sim;

import java.util.PriorityQueue;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Time, order and chance of one run. */
final class Simulation {
    static final long MILLI = 1_000_000;

    final Random random;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long now;
    private long order;
    private boolean chaos = true;

    private record Event(long time, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event o) {
            return time != o.time ? Long.compare(time, o.time) : Long.compare(order, o.order);
        }
    }

    Simulation(long seed) {
        random = new Random(seed);
    }

    /** Nanoseconds since the run began. */
    long now() {
        return now;
    }

    /** Whether faults still happen. */
    boolean chaos() {
        return chaos;
    }

    void endChaos() {
        chaos = false;
    }

    /** True that often while there is chaos. */
    boolean chance(double rate) {
        return chaos && random.nextDouble() < rate;
    }

    /** Nanoseconds, at least 0 and less than the bound. */
    long upTo(long nanos) {
        return random.nextLong(nanos);
    }

    void after(long nanos, Runnable action) {
        events.add(new Event(now + nanos, order++, action));
    }

    /** Runs what is next; false if nothing is. */
    boolean step() {
        @Nullable Event event = events.poll();
        if (event == null) {
            return false;
        }
        now = event.time;
        event.action.run();
        return true;
    }
}
