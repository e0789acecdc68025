package io.cairn.cli.stats;

import io.cairn.cli.stats.Reading.Series;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * What happened between two readings.
 *
 * @param seconds between them
 * @param operations of timers that counted any, the busiest first
 * @param flows of counters of bytes
 */
record Rates(double seconds, List<Operation> operations, List<Flow> flows) {
    private static final String PREFIX = "cairn_";
    private static final String LATENCY = "_latency_seconds";
    private static final String BYTES = "_bytes_total";

    /**
     * One kind of operation.
     *
     * @param meter as in the manual without {@code cairn_}: {@code mds_operation}
     * @param tags other than the part
     * @param averageMicros of those that ended between the readings
     * @param p99Micros of the last 30 to 60 seconds
     * @param maxMicros since the start of the process
     */
    record Operation(
            String part,
            String meter,
            Map<String, String> tags,
            double perSecond,
            double errorsPerSecond,
            double averageMicros,
            double p99Micros,
            double maxMicros) {}

    /** Bytes per second of one counter, {@code client_read}. */
    record Flow(String part, String meter, Map<String, String> tags, double bytesPerSecond) {}

    /**
     * @param after taken later than {@code before}, of the same process or of one that was started
     *     again: what it counted since then counts
     * @param wanted parts to look at
     */
    static Rates between(Reading before, Reading after, Predicate<String> wanted) {
        double seconds = (after.takenNanos() - before.takenNanos()) / 1e9;
        Difference difference = new Difference(before, after);
        List<Operation> operations = new ArrayList<>();
        List<Flow> flows = new ArrayList<>();
        for (Series series : after.values().keySet()) {
            if (!series.name().startsWith(PREFIX) || !wanted.test(series.part())) {
                continue;
            }
            if (series.name().endsWith(LATENCY) && "1".equals(series.tags().get("quantile"))) {
                Operation operation = operation(difference, series, seconds);
                if (operation.perSecond() > 0) {
                    operations.add(operation);
                }
            } else if (series.name().endsWith(BYTES)) {
                flows.add(
                        new Flow(
                                series.part(),
                                shortened(series.name(), BYTES),
                                otherTags(series),
                                difference.of(series) / seconds));
            }
        }
        operations.sort(
                Comparator.comparing(Operation::perSecond)
                        .reversed()
                        .thenComparing(o -> o.part() + o.meter() + o.tags()));
        flows.sort(Comparator.comparing(f -> f.part() + f.meter() + f.tags()));
        return new Rates(seconds, operations, flows);
    }

    private static Operation operation(Difference difference, Series longest, double seconds) {
        String name = longest.name().substring(0, longest.name().length() - LATENCY.length());
        Map<String, String> tags = new TreeMap<>(longest.tags());
        tags.remove("quantile");
        Series all = new Series(name + "_total", tags);
        double number = difference.of(all);
        double time = difference.of(all.named(name + "_time_seconds_total"));
        double errors = difference.of(all.named(name + "_errors_total"));
        return new Operation(
                longest.part(),
                shortened(name, ""),
                otherTags(all),
                number / seconds,
                errors / seconds,
                number == 0 ? 0 : time / number * 1e6,
                difference.after().value(longest.with("quantile", "0.99")) * 1e6,
                difference.after().value(longest) * 1e6);
    }

    private static String shortened(String name, String ending) {
        return name.substring(PREFIX.length(), name.length() - ending.length());
    }

    private static Map<String, String> otherTags(Series series) {
        Map<String, String> tags = new TreeMap<>(series.tags());
        tags.remove("part");
        return tags;
    }

    private record Difference(Reading before, Reading after) {
        /** A counter that shrank began anew. */
        double of(Series counter) {
            double now = after.value(counter);
            double then = before.value(counter);
            return now < then ? now : now - then;
        }
    }
}
