package io.cairn.dataserver.replication;

import java.util.List;

/**
 * Who has a PG in one of its epochs, by disk.
 *
 * @param inSync members that have everything acknowledged, the primary first; an operation is
 *     committed once each of them has it
 * @param learners disks that are to become members: they are sent what they lack, and count for
 *     nothing
 * @param minSize with fewer members in sync no operation is acknowledged
 */
public record PgMembers(List<Integer> inSync, List<Integer> learners, int minSize) {
    public PgMembers {
        inSync = List.copyOf(inSync);
        learners = List.copyOf(learners);
    }

    /** All in sync, the primary first, and no minimum. */
    public static PgMembers allInSync(Integer... disks) {
        return new PgMembers(List.of(disks), List.of(), 1);
    }

    boolean belowMinimum() {
        return inSync.size() < minSize;
    }
}
