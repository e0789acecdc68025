package io.cairn.system.history;

import io.cairn.system.history.Linearizability.Model;
import io.cairn.system.history.Linearizability.Step;
import io.cairn.system.history.Linearizability.Verdict;
import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One register, which is read and written as a whole. No value is written twice. */
public final class Registers {
    /** What was told, or is to be. */
    private record Access(boolean write, String value) {}

    private record Register(String initial) implements Model<String, Access> {
        @Override
        public @Nullable String after(String state, Access access) {
            if (access.write) {
                return access.value;
            }
            return state.equals(access.value) ? state : null;
        }
    }

    private Registers() {}

    /** Each operation takes effect at one moment. */
    public static Verdict linearizable(String initial, List<Operation> operations) {
        return Linearizability.check(new Register(initial), steps(operations));
    }

    /**
     * A write takes effect at one moment, a read shows any value since the last write that had
     * ended when it began: what was written and closed is what another opens and reads. A read that
     * is concurrent with a write may show the old value though an earlier one showed the new value.
     * On the mount of the write it shows the new one before any server has it: the kernel puts it
     * into its pages first.
     */
    public static Verdict closedToOpen(String initial, List<Operation> operations) {
        long[] written =
                operations.stream()
                        .filter(o -> o.action() == Action.WRITE && o.ok())
                        .mapToLong(Operation::completedNanos)
                        .sorted()
                        .toArray();
        Map<String, Operation> writes = new HashMap<>();
        operations.stream()
                .filter(o -> o.action() == Action.WRITE)
                .forEach(o -> writes.put(o.argument(), o));
        List<Operation> fromServers =
                operations.stream().filter(o -> !inTheirPages(o, writes.get(o.result()))).toList();
        List<Step<Access>> steps = new ArrayList<>();
        for (Step<Access> step : steps(fromServers)) {
            steps.add(
                    step.operation().write()
                            ? step
                            : new Step<>(
                                    step.operation(),
                                    lastBefore(written, step.invoked()),
                                    step.completed(),
                                    step.text()));
        }
        return Linearizability.check(new Register(initial), steps);
    }

    private static boolean inTheirPages(Operation read, @Nullable Operation write) {
        return write != null
                && read.action() == Action.READ
                && write.mount().equals(read.mount())
                && write.invokedNanos() < read.completedNanos()
                && write.completedNanos() > read.invokedNanos();
    }

    /** Just after the last of these times that is before that one; the beginning if none is. */
    private static long lastBefore(long[] sorted, long time) {
        int at = Arrays.binarySearch(sorted, time);
        int before = at >= 0 ? at - 1 : -at - 2;
        return before < 0 ? Long.MIN_VALUE : sorted[before] + 1;
    }

    private static List<Step<Access>> steps(List<Operation> operations) {
        Set<String> seen = new HashSet<>();
        for (Operation o : operations) {
            if (o.action() == Action.READ && o.ok()) {
                seen.add(o.result());
            }
        }
        List<Step<Access>> steps = new ArrayList<>();
        for (Operation o : operations) {
            boolean write = o.action() == Action.WRITE;
            String value = write ? o.argument() : o.result();
            // A write of unknown outcome that nobody saw may as well never take effect.
            if (o.ok() || (write && o.outcome() == Outcome.UNKNOWN && seen.contains(value))) {
                steps.add(
                        new Step<>(
                                new Access(write, value),
                                o.invokedNanos(),
                                o.completedNanos(),
                                o.toString()));
            }
        }
        return steps;
    }
}
