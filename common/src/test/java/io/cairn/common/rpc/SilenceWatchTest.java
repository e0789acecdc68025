package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a connection is pinged and replaced, by a clock that moves when told to. */
class SilenceWatchTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Line line = new Line();
    private final SilenceWatch watch;

    SilenceWatchTest() {
        channel.freezeTime();
        watch = new SilenceWatch(channel.eventLoop(), TimeUnit.SECONDS.toNanos(1), line);
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static final class Line implements SilenceWatch.Line {
        final List<String> done = new ArrayList<>();
        long heard;
        boolean delivering;
        boolean awaits = true;
        boolean dialled;

        @Override
        public long heard() {
            return heard;
        }

        @Override
        public boolean delivering(long nanos) {
            return delivering;
        }

        @Override
        public boolean awaits() {
            return awaits;
        }

        @Override
        public void ping() {
            done.add("ping");
        }

        @Override
        public void dial() {
            if (!done.contains("dial")) {
                done.add("dial");
            }
        }

        @Override
        public void hangUp() {
            dialled = false;
            done.remove("dial");
        }

        @Override
        public boolean dialled() {
            return dialled;
        }

        @Override
        public void replace() {
            dialled = false;
            done.add("replace");
        }
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    private void passInSteps(long millis) {
        for (long passed = 0; passed < millis; passed += 100) {
            pass(100);
        }
    }

    private void handshakeDone() {
        line.dialled = true;
        watch.dialled();
    }

    @Test
    void aSilentConnectionIsPingedThenAnotherOneTriedThenReplaced() {
        watch.sent();
        passInSteps(400);
        assertThat(line.done).isEmpty();
        passInSteps(200);
        assertThat(line.done).containsExactly("ping");
        passInSteps(800);
        assertThat(line.done).containsExactly("ping");
        passInSteps(100);
        assertThat(line.done).containsExactly("ping", "dial");
        handshakeDone();
        assertThat(line.done).containsExactly("ping", "dial");
        passInSteps(200);
        assertThat(line.done).containsExactly("ping", "dial", "replace");
        passInSteps(60_000);
        assertThat(line.done).containsExactly("ping", "dial", "replace");
    }

    @Test
    void nothingIsDoneWithoutARequestOrAfterItsAnswer() {
        passInSteps(60_000);
        watch.sent();
        line.heard++;
        line.awaits = false;
        passInSteps(60_000);
        assertThat(line.done).isEmpty();
        assertThat(channel.hasPendingTasks()).isFalse();
    }

    /** As those do who ask which server leads. */
    @Test
    void thatTheCallerHasGivenUpDoesNotMakeTheConnectionAlive() {
        watch.sent();
        line.awaits = false;
        passInSteps(1600);
        assertThat(line.done).containsExactly("ping", "dial");
    }

    @Test
    void aServerThatAnswersPingsKeepsItsConnectionHoweverLongRequestsWait() {
        watch.sent();
        for (int i = 1; i <= 100; i++) {
            passInSteps(500);
            assertThat(line.done).hasSize(i).containsOnly("ping");
            line.heard++;
            passInSteps(500);
        }
    }

    @Test
    void theOtherConnectionIsGivenUpWhenTheFirstOneIsHeardOf() {
        watch.sent();
        passInSteps(1600);
        handshakeDone();
        line.heard++; // a suspended server goes on: it answers on both
        passInSteps(400);
        assertThat(line.dialled).isFalse();
        assertThat(line.done).containsExactly("ping");
    }

    @Test
    void theOtherConnectionMayBeLostAndMadeAgain() {
        watch.sent();
        passInSteps(1600);
        handshakeDone();
        line.dialled = false;
        line.done.remove("dial");
        passInSteps(400);
        assertThat(line.done).containsExactly("ping", "dial");
        handshakeDone();
        passInSteps(200);
        assertThat(line.done).endsWith("replace");
    }

    @Test
    void aLostConnectionIsWatchedNoMoreAndTheNextOneFromItsBeginning() {
        watch.sent();
        passInSteps(1400);
        watch.stop();
        watch.sent();
        passInSteps(400);
        assertThat(line.done).containsExactly("ping");
        passInSteps(200);
        assertThat(line.done).containsExactly("ping", "ping");
    }

    /**
     * A server that reads nothing, as it works on all that it takes, is not well served by this.
     */
    @Test
    void timesDoubleUntilSomethingIsHeard() {
        long[] millis = {1500, 3000, 6000, 12_000, 24_000, 24_000};
        for (long until : millis) {
            watch.sent();
            passInSteps(until - 100);
            assertThat(line.done).doesNotContain("dial");
            passInSteps(100);
            assertThat(line.done).contains("dial");
            handshakeDone();
            passInSteps(200);
            assertThat(line.done).endsWith("replace");
            line.done.clear();
        }
        watch.sent();
        line.heard++;
        passInSteps(8_000);
        assertThat(line.done).isEmpty();
        passInSteps(1500);
        assertThat(line.done).contains("dial");
    }

    @Test
    void bytesOnTheirWayAreWaitedForButNotForEver() {
        line.delivering = true;
        watch.sent();
        passInSteps(4_400);
        assertThat(line.done).isEmpty();
        passInSteps(1_600);
        assertThat(line.done).containsExactly("ping", "dial");
    }
}
