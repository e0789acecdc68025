package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.dataserver.replication.PgState;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which placement groups do not serve, by a clock that only moves when told. */
class PgWatchTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    /** Longer than a start may take. */
    private static final long LONG = PgWatch.PATIENCE_NANOS + SECOND;

    private final PgWatch watch = new PgWatch();
    private long now = -5; // System.nanoTime() may be below 0

    /** One look at one placement group. */
    private PgReport look(PgState state, long last, long committed, boolean memberDown) {
        watch.begin(now);
        watch.see(7, state, last, committed, memberDown, () -> "the cause");
        return watch.end();
    }

    private static PgReport report(int active, int notServing, int damaged, int stalled) {
        return PgReport.newBuilder()
                .setActive(active)
                .setNotServing(notServing)
                .setDamaged(damaged)
                .setStalled(stalled)
                .build();
    }

    private static PgReport counts(PgReport report) {
        return report.toBuilder().clearProblems().build();
    }

    @Test
    void aStartIsNoProblemUntilItTakesLong() {
        assertThat(look(PgState.QUERYING, 9, 9, false)).isEqualTo(report(0, 1, 0, 0));
        now += PgWatch.PATIENCE_NANOS;
        assertThat(look(PgState.RESENDING, 9, 8, false))
                .as("another state, and yet not serving")
                .isEqualTo(report(0, 1, 0, 0));
        now += SECOND;
        PgReport stalled = look(PgState.QUERYING, 9, 9, false);
        assertThat(counts(stalled)).isEqualTo(report(0, 1, 0, 1));
        assertThat(stalled.getProblemsList())
                .containsExactly(
                        PgProblem.newBuilder()
                                .setPg(7)
                                .setSinceMillis(6000)
                                .setCause("the cause")
                                .build());
        assertThat(look(PgState.ACTIVE, 10, 10, false)).isEqualTo(report(1, 0, 0, 0));
        assertThat(look(PgState.QUERYING, 10, 10, false))
                .as("its time begins again")
                .isEqualTo(report(0, 1, 0, 0));
    }

    @Test
    void aDamagedOneIsAProblemAtOnce() {
        PgReport damaged = look(PgState.DAMAGED, 9, 9, false);
        assertThat(counts(damaged)).isEqualTo(report(0, 0, 1, 0));
        assertThat(damaged.getProblemsList())
                .containsExactly(
                        PgProblem.newBuilder()
                                .setPg(7)
                                .setDamaged(true)
                                .setCause("the cause")
                                .build());
    }

    @Test
    void operationsOfWhichNoneIsCommittedAreAProblem() {
        assertThat(look(PgState.ACTIVE, 10, 9, false)).isEqualTo(report(1, 0, 0, 0));
        now += LONG;
        assertThat(look(PgState.ACTIVE, 12, 10, false))
                .as("it is slow, but goes on")
                .isEqualTo(report(1, 0, 0, 0));
        now += LONG;
        assertThat(counts(look(PgState.ACTIVE, 12, 10, false))).isEqualTo(report(0, 1, 0, 1));
        assertThat(look(PgState.ACTIVE, 12, 12, false)).isEqualTo(report(1, 0, 0, 0));
    }

    @Test
    void aGroupWhoseMemberIsDownDoesNotServeThoughNothingIsWritten() {
        assertThat(look(PgState.ACTIVE, 9, 9, true)).isEqualTo(report(0, 1, 0, 0));
        now += LONG;
        assertThat(counts(look(PgState.ACTIVE, 9, 9, true))).isEqualTo(report(0, 1, 0, 1));
    }

    @Test
    void oneThatIsPrimaryNoLongerIsForgotten() {
        look(PgState.QUERYING, 9, 9, false);
        now += LONG;
        watch.begin(now);
        assertThat(watch.end()).isEqualTo(PgReport.getDefaultInstance());
        assertThat(look(PgState.QUERYING, 9, 9, false)).isEqualTo(report(0, 1, 0, 0));
    }

    @Test
    void ofManyOnlySomeAreNamedTheDamagedOnesFirst() {
        PgReport first = PgReport.getDefaultInstance();
        for (int round = 0; round < 2; round++) {
            watch.begin(now);
            for (int pg = 0; pg < 100; pg++) {
                boolean damaged = pg >= 50;
                watch.see(pg, damaged ? PgState.DAMAGED : PgState.QUERYING, 9, 9, false, () -> "");
            }
            first = watch.end();
            now += LONG;
        }
        assertThat(counts(first)).isEqualTo(report(0, 50, 50, 50));
        assertThat(first.getProblemsList()).hasSize(2 * PgWatch.MAX_PROBLEMS);
        assertThat(first.getProblemsList().subList(0, PgWatch.MAX_PROBLEMS))
                .allMatch(PgProblem::getDamaged);
        assertThat(first.getProblemsList().subList(PgWatch.MAX_PROBLEMS, 32))
                .noneMatch(PgProblem::getDamaged);

        PgReport old =
                PgReport.newBuilder()
                        .setActive(3)
                        .setStalled(1)
                        .setNotServing(2)
                        .addProblems(PgProblem.newBuilder().setPg(1000).setSinceMillis(1 << 30))
                        .build();
        PgReport both = PgWatch.merge(List.of(first, old));
        assertThat(counts(both)).isEqualTo(report(3, 52, 50, 51));
        assertThat(both.getProblemsList()).hasSize(2 * PgWatch.MAX_PROBLEMS);
        assertThat(both.getProblems(PgWatch.MAX_PROBLEMS).getPg())
                .as("the one that lasts longest")
                .isEqualTo(1000);
    }
}
