package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PgBudgetsTest {
    private static final int MIB = 1 << 20;
    private static final long STUCK = 1000;
    private static final int A = 1;
    private static final int B = 2;

    private final PgBudgets<String> budgets = budgets(STUCK);
    private final List<String> started = new ArrayList<>();
    private long now = 1;

    private static PgBudgets<String> budgets(long patienceNanos) {
        return new PgBudgets<>(new PgBudgets.Limits(4 * MIB, 16 * MIB, STUCK, patienceNanos));
    }

    private void acquire(int pg, String name, long bytes) {
        if (budgets.acquire(pg, bytes, name, now)) {
            started.add(name);
        } else {
            drain();
        }
    }

    private void drain() {
        assertThat(budgets.drain()).isTrue();
        assertThat(budgets.drain()).as("another thread").isFalse();
        for (String call = budgets.next(now); call != null; call = budgets.next(now)) {
            started.add(call);
        }
    }

    private void release(int pg, long bytes, boolean answered) {
        budgets.release(pg, bytes, answered, now);
        drain();
    }

    private void pass(long nanos) {
        now += nanos;
        budgets.tick(now);
        drain();
    }

    /** So that the PG may take all there is. */
    private void answers(int pg) {
        acquire(pg, "probe", 1);
        release(pg, 1, true);
        started.clear();
    }

    @Test
    void whatDoesNotFitWaitsInOrder() {
        answers(A);
        acquire(A, "a", 3 * MIB);
        acquire(A, "b", 2 * MIB);
        acquire(A, "c", 1); // would fit, but b was first
        assertThat(started).containsExactly("a");
        assertThat(budgets.waiting()).isEqualTo(2);
        release(A, 3 * MIB, true);
        assertThat(started).containsExactly("a", "b", "c");
        assertThat(budgets.inFlightBytes()).isEqualTo(2 * MIB + 1);
        assertThat(budgets.waiting()).isZero();
    }

    @Test
    void aStuckGroupIsSilentSinceItsLastAnswerUntilTheNextOne() {
        answers(A);
        pass(10);
        acquire(A, "a", 100);
        long asked = now;
        pass(STUCK - 1);
        assertThat(budgets.stuckSince()).isEmpty();
        pass(1);
        assertThat(budgets.stuckSince()).containsExactly(Map.entry(A, asked));
        release(A, 100, false);
        assertThat(budgets.stuckSince()).as("nobody waits, and yet").containsKey(A);
        pass(10);
        acquire(A, "b", 100);
        assertThat(budgets.stuckSince()).containsExactly(Map.entry(A, asked));
        release(A, 100, true);
        assertThat(budgets.stuckSince()).isEmpty();
    }

    @Test
    void somethingLargerThanAllOfItGoesAlone() {
        answers(B);
        acquire(A, "a", 1);
        acquire(B, "b", 50 * MIB);
        assertThat(started).containsExactly("a");
        release(A, 1, true);
        acquire(A, "c", 1);
        assertThat(started).containsExactly("a", "b");
        release(B, 50 * MIB, true);
        assertThat(started).containsExactly("a", "b", "c");
    }

    @Test
    void pgsTakeTurns() {
        answers(A);
        answers(B);
        acquire(A, "a1", 4 * MIB);
        for (String name : List.of("a2", "a3", "a4")) {
            acquire(A, name, MIB);
        }
        acquire(B, "b1", MIB);
        release(A, 4 * MIB, true);
        assertThat(started).containsExactly("a1", "a2", "b1", "a3", "a4");
    }

    @Test
    void onlyAPgThatAnswersMayTakeMuch() {
        acquire(A, "a1", MIB);
        acquire(A, "a2", MIB);
        acquire(B, "b1", MIB / 2);
        acquire(B, "b2", MIB / 2);
        assertThat(started).containsExactly("a1", "b1", "b2");
        release(A, MIB, true);
        acquire(A, "a3", MIB);
        assertThat(started).containsExactly("a1", "b1", "b2", "a2", "a3");
        // Long ago.
        release(A, 2 * MIB, true);
        pass(STUCK);
        acquire(A, "a4", MIB);
        acquire(A, "a5", MIB);
        assertThat(started).endsWith("a3", "a4");
    }

    @Test
    void aStuckPgDoesNotCountAndGetsNothingMore() {
        answers(A);
        answers(B);
        acquire(A, "a1", 4 * MIB);
        acquire(A, "a2", MIB);
        acquire(B, "b1", 3 * MIB);
        acquire(B, "b2", MIB);
        assertThat(started).containsExactly("a1");
        started.clear();
        pass(STUCK);
        assertThat(budgets.stuckPgs()).isEqualTo(1);
        assertThat(started).as("B has not answered lately").containsExactly("b1");
        release(B, 3 * MIB, true);
        acquire(B, "b3", 3 * MIB);
        assertThat(started).containsExactly("b1", "b2", "b3");
        assertThat(budgets.inFlightBytes()).isEqualTo(8 * MIB);
        // Its answer ends it, and it counts again.
        release(A, MIB, true);
        assertThat(budgets.stuckPgs()).isZero();
        acquire(B, "b4", 1);
        assertThat(started).containsExactly("b1", "b2", "b3");
        release(A, 3 * MIB, true);
        release(B, 4 * MIB, true);
        assertThat(started).containsExactly("b1", "b2", "b3", "a2", "b4");
        release(A, MIB, true);
        release(B, 1, true);
        assertThat(budgets.inFlightBytes()).isZero();
    }

    @Test
    void aStuckPgWithNothingInFlightIsAskedAgain() {
        acquire(A, "a1", 1);
        acquire(A, "a2", MIB);
        acquire(A, "a3", MIB);
        pass(STUCK);
        assertThat(started).containsExactly("a1");
        release(A, 1, false);
        assertThat(started).containsExactly("a1", "a2");
        release(A, MIB, true);
        assertThat(started).containsExactly("a1", "a2", "a3");
    }

    @Test
    void whatIsTakenOutLeavesTheOthersInOrder() {
        acquire(A, "a1", MIB);
        acquire(A, "a2", MIB);
        acquire(A, "a3", MIB);
        acquire(A, "a4", MIB);
        assertThat(budgets.remove(name -> name.equals("a2") || name.equals("b")))
                .containsExactly("a2");
        assertThat(budgets.waiting()).isEqualTo(2);
        release(A, MIB, true);
        assertThat(started).containsExactly("a1", "a3", "a4");
        assertThat(budgets.remove(name -> true)).isEmpty();
    }

    @Test
    void writesForStuckPgsMayHoldHalf() {
        int[] a = {A};
        int[] b = {B};
        int[] both = {A, B};
        PgBudgets.Held ofA = held(a, 6 * MIB);
        acquire(A, "a", 1);
        pass(STUCK);
        assertThat(budgets.stuckHeldBytes()).isEqualTo(6 * MIB);
        PgBudgets.Held ofBoth = held(both, 2 * MIB);
        assertThat(budgets.hold(a, 1)).isNull();
        assertThat(budgets.hold(both, 1)).isNull();
        PgBudgets.Held ofB = held(b, 8 * MIB);
        assertThat(budgets.hold(b, 1)).as("more than all may").isNull();
        budgets.letGo(ofA);
        assertThat(budgets.stuckHeldBytes()).isEqualTo(2 * MIB);
        release(A, 1, true);
        assertThat(budgets.stuckHeldBytes()).isZero();
        budgets.letGo(ofBoth);
        budgets.letGo(ofB);
        assertThat(budgets.heldBytes()).isZero();
        assertThat(budgets.hold(a, 16 * MIB)).isNotNull();
    }

    private PgBudgets.Held held(int[] ids, long bytes) {
        return Objects.requireNonNull(budgets.hold(ids, bytes), "refused");
    }

    /** As of a striped file: it takes its memory once, whichever of its parts are stuck. */
    @Test
    void aWriteForSeveralStuckPgsCountsOnce() {
        int[] both = {A, B};
        PgBudgets.Held before = held(both, 4 * MIB);
        acquire(A, "a", 1);
        acquire(B, "b", 1);
        pass(STUCK);
        assertThat(budgets.stuckHeldBytes()).isEqualTo(4 * MIB);
        PgBudgets.Held after = held(both, 4 * MIB);
        assertThat(budgets.hold(both, 1)).as("half").isNull();
        release(A, 1, true);
        assertThat(budgets.stuckHeldBytes()).as("the other one is stuck").isEqualTo(8 * MIB);
        budgets.letGo(before);
        assertThat(budgets.stuckHeldBytes()).isEqualTo(4 * MIB);
        release(B, 1, true);
        assertThat(budgets.stuckHeldBytes()).isZero();
        budgets.letGo(after);
        assertThat(budgets.heldBytes()).isZero();
    }

    @Test
    void onlyWritesForPgsThatAnswerSlowCallersDown() throws InterruptedException {
        acquire(A, "a", 1);
        pass(STUCK);
        PgBudgets.Held ofA = held(new int[] {A}, 8 * MIB);
        assertThat(budgets.hold(new int[] {B}, 8 * MIB)).isNotNull();
        budgets.slowDown(Long.MAX_VALUE / (64L * MIB)); // would not end
        release(A, 1, true);
        Thread waiting = slowedDown(budgets);
        budgets.letGo(ofA);
        assertThat(waiting.join(Duration.ofSeconds(60))).isTrue();
    }

    /** A thread that is kept waiting. */
    private static Thread slowedDown(PgBudgets<String> by) {
        Thread waiting =
                Thread.ofPlatform()
                        .start(() -> {
                            try {
                                by.slowDown(600_000);
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt();
                            }
                        });
        await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
        return waiting;
    }

    /** Of a server that has just died, while another one takes its place. */
    @Test
    void whatIsAboutToAnswerKeepsCallersWaiting() throws InterruptedException {
        PgBudgets<String> patient = budgets(Duration.ofHours(1).toNanos());
        long began = System.nanoTime();
        patient.acquire(A, 1, "a", began);
        patient.acquire(B, 1, "b", began);
        patient.hold(new int[] {A}, 4 * MIB);
        PgBudgets.Held second = patient.hold(new int[] {B}, 2 * MIB);
        patient.tick(began + STUCK);
        patient.slowDown(600_000); // does not wait: not much is held
        PgBudgets.Held third = patient.hold(new int[] {B}, MIB);
        Thread until = slowedDown(patient);
        patient.letGo(Objects.requireNonNull(third));
        assertThat(until.join(Duration.ofSeconds(60))).as("something is let go").isTrue();
        patient.hold(new int[] {A}, MIB);
        Thread answered = slowedDown(patient);
        patient.release(B, 1, true, began + STUCK);
        assertThat(answered.join(Duration.ofSeconds(60))).as("one answers").isTrue();
        patient.letGo(Objects.requireNonNull(second));
    }

    /** A server dies meanwhile: then there is less room for what it does not answer. */
    @Test
    void whoWaitsForRoomWaitsOnForWhatIsAboutToAnswer() throws Exception {
        PgBudgets<String> patient = budgets(Duration.ofHours(1).toNanos());
        long began = System.nanoTime();
        patient.acquire(A, 1, "a", began);
        PgBudgets.Held most = patient.hold(new int[] {A}, 9 * MIB);
        PgBudgets.Held some = patient.hold(new int[] {A}, MIB);
        CompletableFuture<PgBudgets.Held> held = new CompletableFuture<>();
        Thread waiting =
                Thread.ofPlatform()
                        .start(() -> {
                            try {
                                patient.slowDown(600_000);
                                held.complete(patient.hold(new int[] {A}, MIB));
                            } catch (InterruptedException e) {
                                held.completeExceptionally(e);
                            }
                        });
        await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
        patient.tick(began + STUCK);
        patient.letGo(Objects.requireNonNull(some));
        patient.release(A, 1, true, began + STUCK);
        patient.letGo(Objects.requireNonNull(most));
        assertThat(held.get(60, TimeUnit.SECONDS)).isNotNull();
    }

    // ---- spare requests

    private boolean spare(int pg, long bytes) {
        return budgets.acquireSpare(pg, bytes, now);
    }

    @Test
    void spareRequestsTakeHalfTogetherWithTheOthers() {
        answers(A);
        assertThat(spare(A, MIB)).isTrue();
        assertThat(spare(A, MIB)).isTrue();
        assertThat(spare(A, 1)).isFalse();
        budgets.releaseSpare(A, MIB, true, now);
        acquire(A, "a", MIB);
        assertThat(spare(A, 1)).isFalse();
        assertThat(budgets.inFlightBytes()).isEqualTo(2 * MIB);
    }

    @Test
    void spareRequestsKeepNobodyWaiting() {
        assertThat(spare(A, MIB)).isTrue();
        acquire(A, "a", 4 * MIB); // of a PG that has not answered, and all there is
        assertThat(started).containsExactly("a");
        acquire(B, "b", 1);
        assertThat(started).containsExactly("a");
        assertThat(spare(B, 1)).as("somebody waits").isFalse();
    }

    @Test
    void aPgThatHasNotAnsweredGetsFewSpareRequests() {
        assertThat(spare(A, MIB)).isTrue();
        assertThat(spare(A, 1)).isFalse();
        budgets.releaseSpare(A, MIB, true, now);
        assertThat(spare(A, MIB)).isTrue();
        assertThat(spare(A, MIB)).isTrue();
    }

    @Test
    void spareRequestsOfAStuckPgLeaveRoomForThoseOfOthers() {
        answers(A);
        assertThat(spare(A, 2 * MIB)).isTrue();
        pass(STUCK);
        assertThat(budgets.stuckPgs()).isEqualTo(1);
        assertThat(spare(A, 1)).isFalse();
        answers(B);
        assertThat(spare(B, 2 * MIB)).isTrue();
        acquire(A, "a", 1);
        assertThat(started).containsExactly("a");
        budgets.releaseSpare(A, 2 * MIB, true, now);
        assertThat(budgets.stuckPgs()).isZero();
        budgets.releaseSpare(B, 2 * MIB, true, now);
        release(A, 1, true);
        assertThat(spare(A, 2 * MIB)).isTrue();
        assertThat(budgets.inFlightBytes()).isEqualTo(2 * MIB);
    }
}
