package io.cairn.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is logged of data servers that do not answer, by a clock that only moves when told. */
class StuckLogTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final String NO_ANSWER =
            "warn: Data server ten:7100 has not answered for placement group 10001 for 3 s: programs"
                    + " that read or write files there wait, and what they asked for is tried again"
                    + " until it answers";

    private final List<String> lines = new ArrayList<>();

    /** Placement groups up to 0x1000f are on one server, the others on a second one. */
    private final StuckLog log =
            new StuckLog(
                    pg -> pg <= 0x1000f ? "ten:7100" : "eleven:7100",
                    line -> lines.add("warn: " + line),
                    line -> lines.add("info: " + line));

    private long now = -SECOND; // System.nanoTime() may be below 0

    private List<String> look(Map<Integer, Long> stuckSince) {
        lines.clear();
        log.look(stuckSince, now);
        return List.copyOf(lines);
    }

    @Test
    void oneLineWhenAServerStopsAnsweringAndOneWhenItAnswers() {
        long since = now;
        now += 3 * SECOND;
        assertThat(look(Map.of(0x10001, since))).containsExactly(NO_ANSWER);
        assertThat(look(Map.of(0x10001, since, 0x10002, since)))
                .as("another group of the same server")
                .isEmpty();
        assertThat(look(Map.of(0x10001, since, 0x10010, since)))
                .as("of another server")
                .singleElement()
                .asString()
                .startsWith("warn: Data server eleven:7100 has not answered");
        now += 40 * SECOND;
        assertThat(look(Map.of(0x10001, since)))
                .containsExactly(
                        "info: Data server eleven:7100 answers again after 43 s: what waited for it goes on");
        assertThat(look(Map.of()))
                .containsExactly(
                        "info: Data server ten:7100 answers again after 43 s: what waited for it goes on");
        assertThat(look(Map.of())).isEmpty();
    }

    @Test
    void aServerThatComesAndGoesFillsNoLog() {
        now += 3 * SECOND;
        assertThat(look(Map.of(0x10001, now - 3 * SECOND))).containsExactly(NO_ANSWER);
        assertThat(look(Map.of())).hasSize(1);
        for (int i = 0; i < 50; i++) {
            now += SECOND;
            assertThat(look(Map.of(0x10001, now - 3 * SECOND))).isEmpty();
            assertThat(look(Map.of())).as("nothing was said that is over").isEmpty();
        }
        now += 7 * SECOND;
        long since = now;
        now += 3 * SECOND;
        assertThat(look(Map.of(0x10001, since))).as("a minute later").containsExactly(NO_ANSWER);
    }

    @Test
    void anOutageThatLastsIsSaidInTheEnd() {
        now += 3 * SECOND;
        look(Map.of(0x10001, now - 3 * SECOND));
        look(Map.of());
        long since = now;
        now += 30 * SECOND;
        assertThat(look(Map.of(0x10001, since))).isEmpty();
        now += 30 * SECOND;
        assertThat(look(Map.of(0x10001, since)))
                .singleElement()
                .asString()
                .contains("for placement group 10001 for 60 s");
    }
}
