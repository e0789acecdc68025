package io.cairn.mds.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.FileLock;
import io.cairn.mds.session.LockQueue.Waiter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whose turn it is, how long it lasts, and who would wait for ever; the test owns the clock. */
final class LockQueueTest {
    private static final long END = Long.MAX_VALUE;
    private static final long SECOND = 1_000_000_000L;

    private final LockQueue<String> queue = new LockQueue<>();
    private final Map<Long, List<FileLock>> held = new HashMap<>();
    private long now = 17;
    private long tickets;

    private static FileLock lock(long inode, long owner, boolean exclusive) {
        return FileLock.newBuilder()
                .setInode(inode)
                .setSession(owner)
                .setOwner(owner)
                .setExclusive(exclusive)
                .setEnd(END)
                .build();
    }

    private void hold(FileLock lock) {
        held.computeIfAbsent(lock.getInode(), i -> new ArrayList<>()).add(lock);
    }

    /** As the state tells it. */
    private void take(Waiter<String> waiter) {
        hold(waiter.wanted);
        queue.taken(waiter.wanted);
    }

    private void release(FileLock lock) {
        held(lock.getInode()).remove(lock);
    }

    private List<FileLock> held(long inode) {
        return held.getOrDefault(inode, List.of());
    }

    private Waiter<String> wait(FileLock lock) {
        Waiter<String> waiter = queue.place(lock, ++tickets, true, now++);
        waiter.request = "request";
        return waiter;
    }

    private List<Waiter<String>> serve(long inode) {
        return queue.serve(inode, held(inode), now);
    }

    private boolean reserved(FileLock lock, boolean waits) {
        return queue.isReserved(lock, waits, now, this::held);
    }

    private boolean deadlock(Waiter<String> waiter) {
        return queue.isDeadlock(waiter, this::held);
    }

    @Test
    void theFirstGetsItsTurnAndOthersAreKeptAwayUntilItIsOver() {
        FileLock first = lock(1, 1, true);
        hold(first);
        Waiter<String> second = wait(lock(1, 2, true));
        Waiter<String> third = wait(lock(1, 3, true));
        assertThat(serve(1)).isEmpty();
        release(first);
        assertThat(serve(1)).containsExactly(second);
        assertThat(serve(1)).as("it is another's turn").isEmpty();
        assertThat(reserved(lock(1, 4, false), false)).isTrue();
        assertThat(reserved(lock(1, 2, true), true)).as("whose turn it is").isFalse();
        take(second);
        assertThat(serve(1)).isEmpty();
        assertThat(reserved(lock(1, 4, true), false)).as("it has the lock").isFalse();
        release(second.wanted);
        assertThat(serve(1)).containsExactly(third);
        now += LockQueue.TURN_NANOS;
        assertThat(reserved(lock(1, 4, true), false)).as("a turn that nobody used").isFalse();
        assertThat(serve(1)).isEmpty();
        assertThat(queue.concerns(1)).isFalse();
    }

    @Test
    void readersGetTheirTurnTogetherAndDoNotPassAWriterForASecond() {
        FileLock reader = lock(1, 1, false);
        hold(reader);
        Waiter<String> writer = wait(lock(1, 2, true));
        FileLock late = lock(1, 3, false);
        assertThat(reserved(late, true)).as("would rather wait").isTrue();
        assertThat(reserved(late, false)).as("does not wait").isFalse();
        assertThat(reserved(reader, true)).as("has locked something already").isFalse();
        Waiter<String> behind = wait(late);
        assertThat(serve(1)).isEmpty();
        now += LockQueue.PATIENCE_NANOS;
        assertThat(serve(1)).as("out of patience").containsExactly(behind);
        take(behind);
        assertThat(serve(1)).isEmpty();
        release(reader);
        release(late);
        assertThat(serve(1)).containsExactly(writer);
        take(writer);
        Waiter<String> one = wait(lock(1, 5, false));
        Waiter<String> two = wait(lock(1, 6, false));
        release(writer.wanted);
        assertThat(serve(1)).containsExactly(one, two);
    }

    @Test
    void whoComesBackWithoutTheLockKeepsItsPlace() {
        Waiter<String> first = wait(lock(1, 1, true));
        assertThat(serve(1)).containsExactly(first);
        Waiter<String> second = wait(lock(1, 2, true));
        Waiter<String> again = queue.place(first.wanted, first.ticket, true, now++);
        again.request = "again";
        assertThat(queue.waiting(1)).containsExactly(again, second);
        assertThat(serve(1)).containsExactly(again);
    }

    @Test
    void whoIsCancelledIsForgottenWhetherItWaitsOrHasItsTurn() {
        Waiter<String> first = wait(lock(1, 1, true));
        Waiter<String> second = wait(lock(1, 2, true));
        assertThat(serve(1)).containsExactly(first);
        assertThat(queue.cancel(1, 1, first.ticket)).isNull();
        assertThat(queue.cancel(1, 2, first.ticket)).as("of another session").isNull();
        assertThat(serve(1)).containsExactly(second);
        Waiter<String> third = wait(lock(1, 3, true));
        assertThat(queue.cancel(1, 3, third.ticket)).isSameAs(third);
        assertThat(queue.size()).isZero();
    }

    @Test
    void aPlaceIsKeptForAWhile() {
        Waiter<String> first = wait(lock(1, 1, true));
        hold(lock(1, 9, true));
        first.untilNanos = now + SECOND;
        assertThat(queue.late(now)).isEmpty();
        now += SECOND;
        assertThat(queue.late(now)).containsExactly(first);
        first.request = null;
        first.untilNanos = now + LockQueue.PLACE_NANOS;
        assertThat(queue.late(now)).isEmpty();
        assertThat(queue.waiting(1)).containsExactly(first);
        now += LockQueue.PLACE_NANOS;
        assertThat(queue.late(now)).isEmpty();
        assertThat(queue.concerns(1)).isFalse();
    }

    @Test
    void aCircleOfWaitersIsADeadlockAndAChainIsNone() {
        for (long owner = 1; owner <= 5; owner++) {
            hold(lock(owner, owner, true));
        }
        List<Waiter<String>> chain = new ArrayList<>();
        for (long owner = 1; owner < 5; owner++) {
            chain.add(wait(lock(owner + 1, owner, true)));
        }
        assertThat(chain).noneMatch(this::deadlock);
        Waiter<String> last = wait(lock(1, 5, false));
        assertThat(deadlock(last)).isTrue();
        assertThat(chain).allMatch(this::deadlock);
        queue.remove(chain.get(2));
        assertThat(deadlock(last)).as("one has given up").isFalse();
    }

    @Test
    void twoWhoShareAndBothWantAllAreADeadlock() {
        hold(lock(1, 1, false));
        hold(lock(1, 2, false));
        Waiter<String> one = wait(lock(1, 1, true));
        assertThat(deadlock(one)).isFalse();
        Waiter<String> two = wait(lock(1, 2, true));
        assertThat(deadlock(two)).isTrue();
    }

    @Test
    void theSameNumberInAnotherSessionIsAnotherOwner() {
        hold(lock(1, 1, true));
        hold(lock(2, 2, true));
        Waiter<String> one = wait(lock(2, 1, true));
        FileLock sameNumber = lock(1, 2, true).toBuilder().setSession(77).build();
        assertThat(deadlock(wait(sameNumber))).isFalse();
        assertThat(deadlock(one)).isFalse();
    }

    @Test
    void openFilesAreNotLookedAtForDeadlocks() {
        hold(lock(1, 1, true));
        hold(lock(2, 2, true));
        Waiter<String> one = queue.place(lock(2, 1, true), ++tickets, false, now);
        Waiter<String> two = wait(lock(1, 2, true));
        assertThat(deadlock(one)).isFalse();
        assertThat(deadlock(two)).isFalse();
    }
}
