package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.List;
import org.junit.jupiter.api.Test;

class SessionWindowsTest {
    private static final int MOST = PgLimits.DEFAULT.maxNumbersPerSession();

    private final SessionWindows windows = new SessionWindows(MOST);

    private void execute(long session, int numbers) {
        for (int n = 1; n <= numbers && !windows.full(session); n++) {
            windows.executed(session, n, 1, n);
        }
    }

    /** Each session has an operation elsewhere that ends not: none says what it has answers to. */
    @Test
    void whatSessionsDoNotAcknowledgeAlwaysFitsIntoAReset() {
        for (int session = 1; session <= 1000; session++) {
            execute(session, MOST);
        }
        List<Answered> all = windows.upTo(Long.MAX_VALUE);
        assertThat(all).hasSize(1000);
        assertThat(AnsweredFormat.encodedLength(all)).isLessThanOrEqualTo(AnsweredFormat.MAX_BYTES);
        assertThat(all).allSatisfy(a -> assertThat(a.numbers()).hasSizeGreaterThan(1));
    }

    @Test
    void thereIsRoomAgainOnceNumbersAreAcknowledged() {
        for (int session = 1; session <= 100; session++) {
            execute(session, MOST);
        }
        assertThat(windows.full(1)).isTrue();
        assertThat(windows.full(101)).as("one that has none").isFalse();
        for (int session = 1; session <= 100; session++) {
            windows.acknowledge(session, 100);
        }
        assertThat(windows.full(1)).isFalse();
        for (int session = 2; session <= 100; session++) {
            windows.forget(session);
        }
        execute(1, MOST);
        assertThat(windows.upTo(Long.MAX_VALUE).getFirst().numbers()).hasSizeGreaterThan(MOST / 2);
    }

    /**
     * Those that came after it are more than there are clients; those that ended are among them.
     */
    @Test
    void ofVeryManySessionsTheOneIdleLongestIsForgotten() {
        for (int session = 1; session <= SessionWindows.MAX_SESSIONS; session++) {
            windows.executed(session, 1, 1, session);
        }
        assertThat(windows.find(1, 1)).isEqualTo(1);
        windows.executed(SessionWindows.MAX_SESSIONS + 1, 1, 1, 1);
        assertThat(windows.find(1, 1)).as("it was just asked for").isEqualTo(1);
        assertThat(windows.find(2, 1)).isEqualTo(SessionWindows.UNKNOWN);
        List<Answered> all = windows.upTo(Long.MAX_VALUE);
        assertThat(all).hasSize(SessionWindows.MAX_SESSIONS);
        assertThat(all.getFirst().session()).as("the session used longest ago first").isEqualTo(3);
    }
}
