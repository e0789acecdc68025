package io.cairn.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.CompactionStatus;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ProgressTest {
    private final StringWriter out = new StringWriter();

    private void show(boolean shown, String... lines) {
        try (Progress progress = new Progress(new PrintWriter(out), shown)) {
            for (String line : lines) {
                progress.show(line);
            }
        }
    }

    @Test
    void oneLineIsWrittenOverAndGoneAtTheEnd() {
        show(true, "one", "one", "two");
        assertThat(out.toString()).isEqualTo("\r\033[Kone\r\033[Ktwo\r\033[K");
    }

    @Test
    void nothingIsPrintedWhereNobodyLooks() {
        show(false, "one", "two");
        show(true);
        assertThat(out.toString()).isEmpty();
        try (Progress json = Progress.on(new PrintWriter(out), true)) {
            json.show("one");
        }
        assertThat(out.toString()).isEmpty();
    }

    /** What wraps could not be written over. */
    @Test
    void aLineFitsOnATerminal() {
        show(true, "x".repeat(79), "y".repeat(80));
        assertThat(out.toString())
                .isEqualTo(
                        "\r\033[K" + "x".repeat(79) + "\r\033[K" + "y".repeat(76) + "...\r\033[K");
    }

    @Test
    void aCompactionSaysHowFarItIsAndHowLongItWillTake() {
        CompactionProgress progress = new CompactionProgress("data-2");
        DatabasesReply two =
                DatabasesReply.newBuilder()
                        .addDatabases(database(true, 10 << 20, 100 << 20))
                        .addDatabases(database(true, 0, 100 << 20))
                        .build();
        assertThat(progress.text(two, seconds(100)))
                .isEqualTo("data-2: 5 %, 10.0 MiB of 200 MiB, 0 of 2 databases");
        DatabasesReply later =
                DatabasesReply.newBuilder()
                        .addDatabases(database(false, 100 << 20, 100 << 20))
                        .addDatabases(database(true, 0, 100 << 20))
                        .build();
        // 90 MiB in 9 s, 100 MiB to go.
        assertThat(progress.text(later, seconds(109)))
                .isEqualTo("data-2: 50 %, 100 MiB of 200 MiB, 1 of 2 databases, about 10 s left");
    }

    @Test
    void oneDatabaseIsNotCounted() {
        DatabasesReply one = DatabasesReply.newBuilder().addDatabases(database(true, 0, 0)).build();
        assertThat(new CompactionProgress("mds-1").text(one, 0))
                .isEqualTo("mds-1: 100 %, 0 B of 0 B");
    }

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }

    private static DatabaseStatus database(boolean running, long done, long total) {
        return DatabaseStatus.newBuilder()
                .setCompaction(
                        CompactionStatus.newBuilder()
                                .setRunning(running)
                                .setDoneBytes(done)
                                .setTotalBytes(total))
                .build();
    }
}
