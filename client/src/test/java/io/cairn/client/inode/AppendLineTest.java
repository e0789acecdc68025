package io.cairn.client.inode;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.inode.AppendLine.Step;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The rules of the right to append, without threads or a clock. */
class AppendLineTest {
    private static final long HOLD = AppendLine.HOLD_NANOS;

    private record Append(String name, long deadline) implements AppendLine.Waiting {
        @Override
        public boolean isLate(long nowNanos) {
            return nowNanos >= deadline;
        }
    }

    private final AppendLine<Append> line = new AppendLine<>();
    private long now = 1_000_000_000_000L;

    private Append append(String name) {
        Append append = new Append(name, Long.MAX_VALUE);
        line.add(append);
        return append;
    }

    private @Nullable Step<Append> next() {
        line.advance();
        return line.next(now);
    }

    private void held() {
        line.granted(line.granting(), now);
    }

    private static Step<Append> run(Append append) {
        return new Step.Run<>(append);
    }

    @Test
    void withTheRightOneRunsAfterTheOther() {
        held();
        Append a = append("a");
        Append b = append("b");
        assertThat(next()).isEqualTo(run(a));
        assertThat(next()).isNull();
        line.over(false, now);
        assertThat(next()).isEqualTo(run(b));
        line.over(false, now);
        assertThat(next()).isEqualTo(new Step.Empty<>());
        assertThat(next()).isNull();
    }

    @Test
    void withoutTheRightItIsAskedForOnce() {
        Append a = append("a");
        assertThat(next()).isEqualTo(new Step.Ask<>(1));
        append("b");
        assertThat(next()).isNull();
        assertThat(line.asks(1)).isTrue();
        held();
        assertThat(line.asks(1)).isFalse();
        assertThat(next()).isEqualTo(run(a));
    }

    @Test
    void onlyOneThreadTakesSteps() {
        append("a");
        assertThat(line.advance()).isTrue();
        assertThat(line.advance()).isFalse();
        assertThat(line.next(now)).isEqualTo(new Step.Ask<>(1));
        assertThat(line.advance()).isFalse();
        assertThat(line.next(now)).isNull();
        assertThat(line.advance()).isTrue();
    }

    @Test
    void recalledItIsKeptForABurstThenReturnedAndAskedForAgain() {
        held();
        append("a");
        append("b");
        append("c");
        next();
        assertThat(line.recall(now)).isFalse();
        now += HOLD / 2;
        line.over(false, now);
        assertThat(next()).as("within the burst").isInstanceOf(Step.Run.class);
        now += HOLD;
        line.over(false, now);
        assertThat(next()).isEqualTo(new Step.GiveBack<>());
        line.returning();
        assertThat(next()).isEqualTo(new Step.Ask<>(1));
    }

    @Test
    void recalledWhileNobodyAppendsItIsLookedAtWhenTheBurstIsOver() {
        held();
        now += HOLD - 1;
        line.recall(now);
        assertThat(next()).isEqualTo(new Step.LookAgain<>(1));
        assertThat(next()).isNull();
        now += 1;
        line.looked();
        assertThat(next()).isEqualTo(new Step.GiveBack<>());
        line.returning();
        assertThat(next()).isNull();
    }

    @Test
    void theRestOfARecordIsWaitedForButNotForEver() {
        held();
        append("first piece");
        next();
        now += 2 * HOLD;
        line.recall(now);
        long recalledAt = now;
        line.over(true, now);
        assertThat(next()).isEqualTo(new Step.LookAgain<>(AppendLine.REST_NANOS));
        assertThat(next()).isEqualTo(new Step.Empty<>());
        Append second = append("second piece");
        now += AppendLine.REST_NANOS - 1;
        assertThat(next()).isEqualTo(run(second));
        now = recalledAt + AppendLine.RECORD_NANOS;
        line.looked();
        line.over(true, now);
        append("third piece");
        assertThat(next()).as("of a record without end").isEqualTo(new Step.GiveBack<>());
    }

    @Test
    void aRecallThatOvertakesTheGrantCountsAfterIt() {
        Append a = append("a");
        next();
        int returns = line.granting();
        assertThat(line.recall(now)).as("return it at once").isFalse();
        line.granted(returns, now);
        assertThat(next()).isEqualTo(run(a));
        now += HOLD;
        line.over(false, now);
        assertThat(next()).isEqualTo(new Step.GiveBack<>());
    }

    @Test
    void aRecallDuringAnAcquisitionThatFailsMeansNothing() {
        append("a");
        next();
        line.granting();
        line.recall(now);
        line.notGranted();
        held();
        now += HOLD;
        assertThat(next()).isInstanceOf(Step.Run.class);
    }

    @Test
    void aGrantThatWasReturnedMeanwhileDoesNotStand() {
        append("a");
        next();
        int returns = line.granting();
        line.closed();
        line.granted(returns, now);
        assertThat(next()).isEqualTo(new Step.Ask<>(2));
        assertThat(line.asks(1)).isFalse();
    }

    @Test
    void whatThisClientDoesNotKnowToHaveItReturnsOnceAtATime() {
        assertThat(line.recall(now)).isTrue();
        line.returning();
        assertThat(line.recall(now)).isFalse();
        line.returned();
        assertThat(line.recall(now)).isTrue();
    }

    @Test
    void aFileMadeWithTheRightHasItUnlessSomethingWasReturned() {
        line.created(now);
        Append a = append("a");
        assertThat(next()).isEqualTo(run(a));
        AppendLine<Append> other = new AppendLine<>();
        other.closed();
        other.created(now);
        other.add(a);
        other.advance();
        assertThat(other.next(now)).isEqualTo(new Step.Ask<>(1));
    }

    @Test
    void thoseWhoseTimeIsOverLeaveTheLine() {
        Append late = new Append("late", now + 1);
        line.add(late);
        next();
        append("patient");
        assertThat(line.late(now)).isEmpty();
        assertThat(line.late(now + 1)).containsExactly(late);
        assertThat(line.wants(1)).isTrue();
        assertThat(line.refused()).hasSize(1);
        assertThat(next()).isEqualTo(new Step.Empty<>());
    }

    @Test
    void whenNobodyWaitsAnyMoreNobodyAsks() {
        line.add(new Append("late", now));
        next();
        line.late(now);
        assertThat(line.wants(1)).isFalse();
        append("next");
        assertThat(next()).isEqualTo(new Step.Ask<>(2));
        assertThat(line.wants(1)).isFalse();
        assertThat(line.wants(2)).isTrue();
    }

    @Test
    void theSessionsEndTakesTheRightAndNothingGoesOnBeforeTheNext() {
        held();
        Append a = append("a");
        Append b = append("b");
        assertThat(next()).isEqualTo(run(a));
        line.suspend();
        line.again(a); // its session ended before it had begun
        assertThat(next()).isNull();
        assertThat(line.resume(false)).isEmpty();
        assertThat(next()).isEqualTo(new Step.Ask<>(1));
        held();
        assertThat(next()).isEqualTo(run(a));
        line.over(false, now);
        assertThat(next()).isEqualTo(run(b));
    }

    @Test
    void whatWasAskedOrGrantedInTheOldSessionDoesNotStand() {
        append("a");
        assertThat(next()).isEqualTo(new Step.Ask<>(1));
        int returns = line.granting();
        line.suspend();
        assertThat(line.asks(1)).isFalse();
        line.granted(returns, now);
        assertThat(next()).isNull();
        assertThat(line.resume(false)).isEmpty();
        assertThat(next()).isEqualTo(new Step.Ask<>(2));
    }
}
