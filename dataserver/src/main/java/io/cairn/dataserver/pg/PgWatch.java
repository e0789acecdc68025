package io.cairn.dataserver.pg;

import io.cairn.common.proto.MergedPg;
import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.dataserver.replication.PgState;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Finds the PGs that do not serve, for the administrator: those whose primary is damaged, is not
 * active, waits for a member whose server is down, has too few members, or has operations of which
 * none was committed for a while. Each look is a {@link #begin}, a {@link #see} per primary, and an
 * {@link #end}.
 *
 * <p>A PG is without service for a moment whenever a member starts: so it is a problem only after
 * {@link #PATIENCE_NANOS}. One thread; the clock is the caller's.
 */
final class PgWatch {
    /** A member's start takes its primaries less than this. */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** Of each kind: a heartbeat stays small however many PGs a server has. */
    static final int MAX_PROBLEMS = 16;

    private static final Comparator<PgProblem> OLDEST_FIRST =
            Comparator.comparing(PgProblem::getSinceMillis)
                    .reversed()
                    .thenComparing(PgProblem::getPg);

    /** PGs that were not found to serve at the last look, and those with operations in flight. */
    private Map<Integer, Waiting> waiting = new HashMap<>();

    private Map<Integer, Waiting> seen = new HashMap<>();
    private final List<PgProblem> problems = new ArrayList<>();
    private PgReport.Builder report = PgReport.newBuilder();
    private long nowNanos;

    /**
     * @param sinceNanos when it was first seen like this
     * @param committed what was committed then
     */
    private record Waiting(long sinceNanos, long committed) {}

    void begin(long nowNanos) {
        this.nowNanos = nowNanos;
        report = PgReport.newBuilder();
        problems.clear();
        seen = new HashMap<>();
    }

    /**
     * A PG whose primary is here.
     *
     * @param last sequence of the newest operation, and {@code committed} that of the newest one
     *     that all members have
     * @param tooFew the map says that a member's server is down, or has fewer members in sync than
     *     are needed: nothing commits
     * @param cause for the administrator; asked for problems only
     */
    void see(
            int pg,
            PgState state,
            long last,
            long committed,
            boolean tooFew,
            Supplier<String> cause) {
        boolean active = state == PgState.ACTIVE && !tooFew;
        if (active && last == committed) {
            report.setActive(report.getActive() + 1);
            return;
        }
        Waiting before = waiting.get(pg);
        Waiting now =
                before == null || active && before.committed != committed
                        ? new Waiting(nowNanos, committed)
                        : before;
        seen.put(pg, now);
        long forNanos = nowNanos - now.sinceNanos;
        boolean damaged = state == PgState.DAMAGED;
        boolean stalled = forNanos > PATIENCE_NANOS;
        if (damaged) {
            report.setDamaged(report.getDamaged() + 1);
        } else if (active && !stalled) {
            report.setActive(report.getActive() + 1);
        } else {
            report.setNotServing(report.getNotServing() + 1);
            report.setStalled(report.getStalled() + (stalled ? 1 : 0));
        }
        if (damaged || stalled) {
            problems.add(
                    PgProblem.newBuilder()
                            .setPg(pg)
                            .setDamaged(damaged)
                            .setSinceMillis(TimeUnit.NANOSECONDS.toMillis(forNanos))
                            .setCause(cause.get())
                            .build());
        }
    }

    /** The map says that the PG is being made of a part of another one, and it serves. */
    void split(int pg) {
        report.addSplit(pg);
    }

    /**
     * The map says that the PG goes back into another one; on a disk of this server it is so far.
     */
    void merged(int pg, int disk, long mergeEpoch, boolean takenIn) {
        report.addMerged(
                MergedPg.newBuilder()
                        .setPg(pg)
                        .setDisk(disk)
                        .setMergeEpoch(mergeEpoch)
                        .setTakenIn(takenIn));
    }

    /** So many replicas of a PG whose primary is here are brought up to date. */
    void recovering(int replicas) {
        report.setRecovering(report.getRecovering() + replicas);
    }

    /** What was found; PGs that were not seen since {@link #begin} are forgotten. */
    PgReport end() {
        waiting = seen;
        return report.addAllProblems(worst(problems)).build();
    }

    /** What several watches of one server found. */
    static PgReport merge(List<PgReport> reports) {
        PgReport.Builder all = PgReport.newBuilder();
        List<PgProblem> problems = new ArrayList<>();
        for (PgReport r : reports) {
            all.setActive(all.getActive() + r.getActive())
                    .setNotServing(all.getNotServing() + r.getNotServing())
                    .setDamaged(all.getDamaged() + r.getDamaged())
                    .setStalled(all.getStalled() + r.getStalled())
                    .setRecovering(all.getRecovering() + r.getRecovering());
            all.addAllSplit(r.getSplitList());
            all.addAllMerged(r.getMergedList());
            problems.addAll(r.getProblemsList());
        }
        return all.addAllProblems(worst(problems)).build();
    }

    private static List<PgProblem> worst(List<PgProblem> problems) {
        return Stream.concat(
                        worst(problems, PgProblem::getDamaged),
                        worst(problems, p -> !p.getDamaged()))
                .toList();
    }

    private static Stream<PgProblem> worst(List<PgProblem> problems, Predicate<PgProblem> kind) {
        return problems.stream().filter(kind).sorted(OLDEST_FIRST).limit(MAX_PROBLEMS);
    }
}
