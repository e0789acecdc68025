package io.cairn.system.history;

import io.cairn.system.history.Linearizability.Model;
import io.cairn.system.history.Linearizability.Step;
import io.cairn.system.history.Linearizability.Verdict;
import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A set of names that is empty at first. Adding and removing tell whether the name was there; of
 * each name that is so at one moment of the operation. A list is no picture of one moment: it shows
 * each name as it was at some moment of the listing, and twice only if it was added meanwhile
 * (POSIX, readdir).
 */
public final class NameSets {
    /** Result of {@link Action#ADD}, {@link Action#REMOVE}: it was absent, was there. */
    public static final String DONE = "done";

    /** Of {@link Action#CONTAINS}, or as a refusal to add. */
    public static final String THERE = "there";

    /** Of {@link Action#CONTAINS}, or as a refusal to remove. */
    public static final String ABSENT = "absent";

    /** A result not heard of is null. */
    private record Access(Action action, @Nullable String result) {}

    private static final Model<Boolean, Access> NAME =
            new Model<>() {
                @Override
                public Boolean initial() {
                    return false;
                }

                @Override
                public @Nullable Boolean after(Boolean there, Access access) {
                    boolean add = access.action == Action.ADD;
                    if (access.action == Action.CONTAINS) {
                        return THERE.equals(access.result) == there ? there : null;
                    }
                    // Not heard of, it may as well have changed nothing: that is as if not done.
                    boolean changes = access.result == null || access.result.equals(DONE);
                    if (changes == (there == add)) {
                        return null;
                    }
                    return changes ? Boolean.valueOf(add) : there;
                }
            };

    private NameSets() {}

    /** The verdict of each name. */
    public static TreeMap<String, Verdict> check(List<Operation> operations) {
        TreeMap<String, List<Step<Access>>> byName = new TreeMap<>();
        for (Operation o : operations) {
            if (o.action() != Action.LIST) {
                var _ = steps(byName, o.argument());
            } else if (o.ok()) {
                names(o).forEach(name -> steps(byName, name));
            }
        }
        for (Operation o : operations) {
            if (o.action() == Action.LIST) {
                if (o.ok()) {
                    Set<String> listed = names(o);
                    byName.forEach((name, steps) ->
                            steps.add(
                                    step(
                                            o,
                                            Action.CONTAINS,
                                            listed.contains(name) ? THERE : ABSENT)));
                }
            } else if (o.ok()) {
                steps(byName, o.argument()).add(step(o, o.action(), o.result()));
            } else if (o.outcome() == Outcome.UNKNOWN && o.action() != Action.CONTAINS) {
                steps(byName, o.argument()).add(step(o, o.action(), null));
            }
        }
        TreeMap<String, Verdict> verdicts = new TreeMap<>();
        byName.forEach((name, steps) -> verdicts.put(name, Linearizability.check(NAME, steps)));
        for (Operation o : operations) {
            if (o.action() == Action.LIST && o.ok()) {
                twice(o).stream()
                        .filter(name -> operations.stream().noneMatch(a -> mayAdd(a, name, o)))
                        .forEach(name ->
                                verdicts.put(name, new Verdict.Contradiction("twice in " + o)));
            }
        }
        return verdicts;
    }

    private static List<Step<Access>> steps(
            TreeMap<String, List<Step<Access>>> byName, String name) {
        return byName.computeIfAbsent(name, _ -> new ArrayList<>());
    }

    /** Of a list, with commas between them. */
    private static Set<String> names(Operation list) {
        return list.result().isEmpty()
                ? Set.of()
                : new HashSet<>(List.of(list.result().split(",")));
    }

    private static Set<String> twice(Operation list) {
        Set<String> once = new HashSet<>();
        return Stream.of(list.result().split(","))
                .filter(name -> !once.add(name))
                .collect(Collectors.toSet());
    }

    /** Whether the name may have been added while it was listed. */
    private static boolean mayAdd(Operation add, String name, Operation list) {
        return add.action() == Action.ADD
                && add.argument().equals(name)
                && (add.outcome() == Outcome.UNKNOWN || add.result().equals(DONE))
                && add.invokedNanos() < list.completedNanos()
                && add.completedNanos() > list.invokedNanos();
    }

    private static Step<Access> step(Operation o, Action action, @Nullable String result) {
        return new Step<>(
                new Access(action, result), o.invokedNanos(), o.completedNanos(), o.toString());
    }
}
