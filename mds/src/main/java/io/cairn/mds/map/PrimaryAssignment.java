package io.cairn.mds.map;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which replica of each PG is the primary: every disk leads its replicas divided by the pool's
 * size, rounded up or down. Keeps the present primaries, then hands leads on along shortest paths
 * from disks with too many to disks with too few. Such paths exist as long as a disk is out of
 * bounds: leading each PG by equal parts is a flow within the bounds, so an integral one exists
 * too. One use by one thread.
 */
final class PrimaryAssignment {
    private static final int NONE = -1;

    private final int[][] replicas;
    private final int[] primaries;
    private final int[] leads;
    private final int[] least;
    private final int[] most;
    private final List<List<Integer>> pgsOf = new ArrayList<>();

    PrimaryAssignment(int[][] replicas, int disks) {
        this.replicas = replicas;
        this.primaries = new int[replicas.length];
        this.leads = new int[disks];
        this.least = new int[disks];
        this.most = new int[disks];
        for (int disk = 0; disk < disks; disk++) {
            pgsOf.add(new ArrayList<>());
        }
        for (int pg = 0; pg < replicas.length; pg++) {
            for (int disk : replicas[pg]) {
                pgsOf.get(disk).add(pg);
            }
        }
        int size = replicas.length == 0 ? 1 : replicas[0].length;
        for (int disk = 0; disk < disks; disk++) {
            least[disk] = pgsOf.get(disk).size() / size;
            most[disk] = Math.ceilDiv(pgsOf.get(disk).size(), size);
        }
    }

    /** The primary of each PG. */
    int[] assign(int[][] present) {
        Arrays.fill(primaries, NONE);
        for (int pg = 0; pg < replicas.length; pg++) {
            if (present[pg].length > 0 && holds(pg, present[pg][0])) {
                lead(pg, present[pg][0]);
            }
        }
        for (int pg = 0; pg < replicas.length; pg++) {
            if (primaries[pg] == NONE) {
                lead(pg, leastLeading(pg));
            }
        }
        for (int disk = 0; disk < leads.length; disk++) {
            while (leads[disk] > most[disk]) {
                handOn(disk, most, true);
            }
        }
        for (int disk = 0; disk < leads.length; disk++) {
            while (leads[disk] < least[disk]) {
                handOn(disk, least, false);
            }
        }
        return primaries;
    }

    private boolean holds(int pg, int disk) {
        return Arrays.stream(replicas[pg]).anyMatch(d -> d == disk);
    }

    private int leastLeading(int pg) {
        int best = replicas[pg][0];
        for (int disk : replicas[pg]) {
            // leads / most, compared without dividing
            if ((long) leads[disk] * most[best] < (long) leads[best] * most[disk]) {
                best = disk;
            }
        }
        return best;
    }

    private void lead(int pg, int disk) {
        if (primaries[pg] != NONE) {
            leads[primaries[pg]]--;
        }
        primaries[pg] = disk;
        leads[disk]++;
    }

    /**
     * Moves one lead away from the disk to one below the bound, or, the other way round, to the
     * disk from one above the bound.
     */
    private void handOn(int start, int[] bound, boolean away) {
        int[] cameBy = new int[leads.length];
        Arrays.fill(cameBy, NONE);
        int[] cameFrom = new int[leads.length];
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        queue.add(start);
        while (!queue.isEmpty()) {
            int disk = queue.remove();
            for (int pg : pgsOf.get(disk)) {
                for (int next : away ? replicas[pg] : new int[] {primaries[pg]}) {
                    if ((away && primaries[pg] != disk)
                            || next == disk
                            || next == start
                            || cameBy[next] != NONE) {
                        continue;
                    }
                    cameBy[next] = pg;
                    cameFrom[next] = disk;
                    if (away ? leads[next] < bound[next] : leads[next] > bound[next]) {
                        unwind(next, start, cameBy, cameFrom, away);
                        return;
                    }
                    queue.add(next);
                }
            }
        }
        throw new IllegalStateException("primaries cannot be balanced");
    }

    private void unwind(int end, int start, int[] cameBy, int[] cameFrom, boolean away) {
        for (int disk = end; disk != start; disk = cameFrom[disk]) {
            lead(cameBy[disk], away ? disk : cameFrom[disk]);
        }
    }
}
