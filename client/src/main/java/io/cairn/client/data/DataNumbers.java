package io.cairn.client.data;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/**
 * The numbers of a session's data mutations: one sequence over all PGs, each number outstanding
 * from {@link #begin} to {@link #end}. A PG forgets, and from then on refuses, what lies below the
 * mark that it was sent.
 *
 * <p>There is a mark for each PG that a pool was made with, its <i>root</i>, and for all that were
 * made of that one: PGs that split or merge take over marks from each other, but never from those
 * of another root. So whatever becomes of the PGs, no number is refused that is outstanding; and a
 * PG that does not answer holds back the marks of its own root only. Any thread.
 */
final class DataNumbers {
    private final Map<Integer, LinkedHashSet<Long>> outstanding = new HashMap<>();
    private long next = 1;

    /**
     * The next number, outstanding from now on.
     *
     * @param root see {@link io.cairn.common.map.ClusterMap#rootOf}
     */
    synchronized long begin(int root) {
        outstanding.computeIfAbsent(root, _ -> new LinkedHashSet<>()).add(next);
        return next++;
    }

    /** The number is answered, or given up for good. */
    synchronized void end(int root, long number) {
        LinkedHashSet<Long> numbers = outstanding.get(root);
        if (numbers == null || !numbers.remove(number)) {
            throw new IllegalArgumentException(
                    "data number %d is not outstanding for PG %x".formatted(number, root));
        }
    }

    /** Every number of this root below this one has ended. */
    synchronized long ackedBelow(int root) {
        LinkedHashSet<Long> numbers = outstanding.get(root);
        return numbers == null || numbers.isEmpty() ? next : numbers.getFirst();
    }
}
