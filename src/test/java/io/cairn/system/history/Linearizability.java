package io.cairn.system.history;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Whether operations can be put in an order in which each takes effect at one moment between its
 * beginning and its end, and each has the result it had. An operation without an end may take
 * effect at any moment after its beginning, or never.
 *
 * <p>The search of Wing and Gong (Testing and Verifying Concurrent Objects, 1993) with the memory
 * of Lowe (Testing for Linearizability, 2017): a set of operations that led to a state once is not
 * tried again. What is remembered of a set is small, as it is all operations up to one but for a
 * few. One thread.
 *
 * @param <S> the object's state, immutable, with {@code equals}
 * @param <I> what an operation does and what it was told
 */
public final class Linearizability<S, I> {
    /** Sets and states that are tried before giving up: some hundred MiB. */
    private static final int MOST_TRIED = 2_000_000;

    /** An object without concurrency. */
    public interface Model<S, I> {
        S initial();

        /** The state after the operation; null where it could not have had its result. */
        @Nullable S after(S state, I operation);
    }

    /**
     * @param completed {@link Operation#NEVER} if it may take effect at any time, or never
     * @param text for people
     */
    public record Step<I>(I operation, long invoked, long completed, String text) {}

    /** What was found. */
    public sealed interface Verdict {
        record Linearizable() implements Verdict {}

        /** The search was given up. */
        record Undecided() implements Verdict {}

        /** No order exists; how far the longest attempt came, for people. */
        record Contradiction(String text) implements Verdict {}
    }

    /** A beginning or an end, in a list in the order of time from which steps are taken. */
    private final class Event {
        final Step<I> step;
        final int number;
        final boolean end;
        final long time;
        @Nullable Event partner;
        @Nullable Event before;
        @Nullable Event after;

        Event(Step<I> step, int number, boolean end) {
            this.step = step;
            this.number = number;
            this.end = end;
            this.time = end ? step.completed() : step.invoked();
        }

        void take() {
            takeOne();
            if (partner != null) {
                partner.takeOne();
                unfinished--;
            }
        }

        void putBack() {
            if (partner != null) {
                unfinished++;
                partner.putBackOne();
            }
            putBackOne();
        }

        private void takeOne() {
            if (before == null) {
                first = after;
            } else {
                before.after = after;
            }
            if (after != null) {
                after.before = before;
            }
        }

        private void putBackOne() {
            if (before == null) {
                first = this;
            } else {
                before.after = this;
            }
            if (after != null) {
                after.before = this;
            }
        }
    }

    /** A step that was taken, and how it was before. */
    private record Taken<S, E>(E event, S state, int highest) {}

    /** All steps up to the highest number are taken but for these. */
    private record Tried<S>(int highest, List<Integer> left, S state) {}

    private final Model<S, I> model;
    private final Deque<Taken<S, Event>> taken = new ArrayDeque<>();
    private final Set<Tried<S>> tried = new HashSet<>();
    private @Nullable Event first;
    private int unfinished;
    private long furthest = Long.MIN_VALUE;
    private String furthestText = "";

    private Linearizability(Model<S, I> model, List<Step<I>> steps) {
        this.model = model;
        List<Event> events = new ArrayList<>();
        List<Step<I>> sorted = new ArrayList<>(steps);
        sorted.sort(Comparator.comparingLong(Step::invoked));
        for (int number = 0; number < sorted.size(); number++) {
            Event begin = new Event(sorted.get(number), number, false);
            events.add(begin);
            if (begin.step.completed() != Operation.NEVER) {
                Event end = new Event(begin.step, number, true);
                begin.partner = end;
                events.add(end);
                unfinished++;
            }
        }
        // Of one moment, what begins comes first: the two may have been concurrent.
        events.sort(Comparator.<Event>comparingLong(e -> e.time).thenComparing(e -> e.end));
        @Nullable Event last = null;
        for (Event event : events) {
            event.before = last;
            if (last == null) {
                first = event;
            } else {
                last.after = event;
            }
            last = event;
        }
    }

    public static <S, I> Verdict check(Model<S, I> model, List<Step<I>> steps) {
        return new Linearizability<>(model, steps).search();
    }

    private Verdict search() {
        S state = model.initial();
        int highest = -1;
        @Nullable Event event = first;
        while (unfinished > 0) {
            if (event == null || event.end) {
                // What has ended must be taken before anything that began later.
                if (event != null) {
                    noteFurthest(event, state);
                }
                @Nullable Taken<S, Event> last = taken.poll();
                if (last == null) {
                    return new Verdict.Contradiction(furthestText);
                }
                last.event.putBack();
                state = last.state;
                highest = last.highest;
                event = last.event.after;
                continue;
            }
            @Nullable S after = model.after(state, event.step.operation());
            if (after == null) {
                event = event.after;
                continue;
            }
            int highestThen = Math.max(highest, event.number);
            event.take();
            if (!tried.add(new Tried<>(highestThen, left(highestThen), after))) {
                event.putBack();
                event = event.after;
                continue;
            }
            if (tried.size() > MOST_TRIED) {
                return new Verdict.Undecided();
            }
            taken.push(new Taken<>(event, state, highest));
            state = after;
            highest = highestThen;
            event = first;
        }
        return new Verdict.Linearizable();
    }

    /** Numbers of the steps not taken, below one. */
    private List<Integer> left(int below) {
        List<Integer> left = new ArrayList<>();
        for (@Nullable Event e = first; e != null && e.number <= below; e = e.after) {
            if (!e.end) {
                left.add(e.number);
            }
        }
        return left;
    }

    private void noteFurthest(Event stuck, S state) {
        if (stuck.time <= furthest) {
            return;
        }
        furthest = stuck.time;
        StringBuilder text = new StringBuilder();
        text.append("cannot be placed: ").append(stuck.step.text());
        text.append("\n  the state before it: ").append(state);
        int shown = 0;
        for (Taken<S, Event> done : taken) {
            if (shown++ == 12) {
                break;
            }
            text.append("\n  placed before it:  ").append(done.event.step.text());
        }
        for (@Nullable Event e = first; e != null && e.time < stuck.time; e = e.after) {
            if (!e.end && e.number != stuck.number) {
                text.append("\n  not yet placed:    ").append(e.step.text());
            }
        }
        furthestText = text.toString();
    }
}
