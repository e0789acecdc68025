package io.cairn.cli.stats;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.cli.stats.Reading.Series;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RatesTest {
    @Test
    void aLineIsItsNameTagsAndValue() {
        Reading reading =
                Reading.parse(
                        0,
                        """
                        # HELP cairn_x Something {with="tags"} 1
                        cairn_x{b="2",a="one \\"quoted\\", back\\\\slash\\nline"} 1.5E3
                        cairn_y 7
                        cairn_z +Inf
                        """);
        assertThat(reading.values())
                .isEqualTo(
                        Map.of(
                                new Series(
                                        "cairn_x",
                                        Map.of("a", "one \"quoted\", back\\slash\nline", "b", "2")),
                                1500.0,
                                new Series("cairn_y", Map.of()),
                                7.0));
    }

    @Test
    void ratesAreOfTheIntervalAndTheBusiestComesFirst() {
        Rates rates = Rates.between(at(0, 100, 5, 1.0, 4096), at(2, 300, 6, 1.5, 8192), p -> true);
        assertThat(rates.seconds()).isEqualTo(2);
        assertThat(rates.operations())
                .containsExactly(
                        new Rates.Operation(
                                "mount",
                                "mount_operation",
                                Map.of("op", "write"),
                                100,
                                0.5,
                                2500,
                                4000,
                                9000));
        assertThat(rates.flows())
                .containsExactly(new Rates.Flow("mount", "client_written", Map.of(), 2048));
    }

    @Test
    void anotherPartOfTheProcessIsLeftOut() {
        assertThat(
                        Rates.between(at(0, 0, 0, 0, 0), at(1, 9, 0, 1, 9), p -> p.equals("data-1"))
                                .operations())
                .isEmpty();
    }

    @Test
    void aPartThatWasStartedAgainCountsFromThen() {
        Rates rates = Rates.between(at(0, 1000, 0, 50, 9000), at(1, 10, 0, 0.1, 512), p -> true);
        assertThat(rates.operations())
                .extracting(Rates.Operation::perSecond, Rates.Operation::averageMicros)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(10.0, 10_000.0));
        assertThat(rates.flows()).extracting(Rates.Flow::bytesPerSecond).containsExactly(512.0);
    }

    @Test
    void theTableNamesWhatHappened() {
        Rates rates = Rates.between(at(0, 100, 5, 1.0, 4096), at(2, 300, 6, 1.5, 8192), p -> true);
        StringWriter out = new StringWriter();
        new StatsReport(rates, false).print(new PrintWriter(out), "12:00:00");
        assertThat(out.toString().lines().toList())
                .containsExactly(
                        "12:00:00  client_written 2.00 KiB/s",
                        "operation                                       per s  errors/s    avg ms    p99 ms",
                        "mount_operation write                           100.0       0.5     2.500     4.000",
                        "");
        assertThat(new StatsReport(rates, false).asMap())
                .containsEntry(
                        "bytes",
                        List.of(
                                Map.of(
                                        "part",
                                        "mount",
                                        "meter",
                                        "client_written",
                                        "tags",
                                        Map.of(),
                                        "bytes_per_second",
                                        2048.0)));
    }

    @Test
    void severalPartsAreTold() {
        String text =
                """
                cairn_dataserver_backup_total{part="data-%1$d"} %2$d
                cairn_dataserver_backup_latency_seconds{part="data-%1$d",quantile="1"} 0.009
                cairn_dataserver_written_bytes_total{part="data-%1$d",role="backup"} %3$d
                """;
        Reading before = Reading.parse(0, text.formatted(1, 0, 0) + text.formatted(2, 0, 0));
        Reading after =
                Reading.parse(
                        TimeUnit.SECONDS.toNanos(1),
                        text.formatted(1, 10, 1024) + text.formatted(2, 20, 2048));
        StringWriter out = new StringWriter();
        new StatsReport(Rates.between(before, after, p -> true), false)
                .print(new PrintWriter(out), "12:00:00");
        assertThat(out.toString())
                .startsWith(
                        "12:00:00  data-1 dataserver_written backup 1.00 KiB/s,"
                                + " data-2 dataserver_written backup 2.00 KiB/s")
                .contains("\ndata-2 dataserver_backup  ", "\ndata-1 dataserver_backup  ");
    }

    /** A mount after so many writes that took so many seconds together, and an idle operation. */
    private static Reading at(int second, int writes, int errors, double time, int bytes) {
        String text =
                """
                cairn_mount_operation_total{op="write",part="mount"} %1$d
                cairn_mount_operation_errors_total{op="write",part="mount"} %2$d
                cairn_mount_operation_time_seconds_total{op="write",part="mount"} %3$s
                cairn_mount_operation_latency_seconds{op="write",part="mount",quantile="0.99"} 0.004
                cairn_mount_operation_latency_seconds{op="write",part="mount",quantile="1"} 0.009
                cairn_mount_operation_total{op="mkdir",part="mount"} 3
                cairn_mount_operation_latency_seconds{op="mkdir",part="mount",quantile="1"} 0.001
                cairn_client_written_bytes_total{part="mount"} %4$d
                jvm_gc_bytes_total 17
                """
                        .formatted(writes, errors, time, bytes);
        return Reading.parse(TimeUnit.SECONDS.toNanos(second), text);
    }
}
