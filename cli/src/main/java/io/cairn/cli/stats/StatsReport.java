package io.cairn.cli.stats;

import io.cairn.cli.output.Sizes;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** Shows rates as a table, or as a document. */
final class StatsReport {
    private static final String HEAD = "%-42s %10s %9s %9s %9s%n";
    private static final String ROW = "%-42s %10.1f %9.1f %9.3f %9.3f%n";

    private final Rates rates;
    private final boolean connections;
    private final boolean severalParts;

    /**
     * @param connections whether what goes over connections is shown, beside the operations that
     *     cause it
     */
    StatsReport(Rates rates, boolean connections) {
        this.rates = rates;
        this.connections = connections;
        severalParts =
                Stream.concat(
                                        rates.operations().stream().map(Rates.Operation::part),
                                        rates.flows().stream().map(Rates.Flow::part))
                                .distinct()
                                .count()
                        > 1;
    }

    void print(PrintWriter out, String time) {
        out.printf(Locale.ROOT, "%s  %s%n", time, flows());
        out.printf(HEAD, "operation", "per s", "errors/s", "avg ms", "p99 ms");
        for (Rates.Operation o : operations()) {
            out.printf(
                    Locale.ROOT,
                    ROW,
                    name(o.part(), o.meter(), o.tags()),
                    o.perSecond(),
                    o.errorsPerSecond(),
                    o.averageMicros() / 1e3,
                    o.p99Micros() / 1e3);
        }
        out.println();
        out.flush();
    }

    Map<String, Object> asMap() {
        List<Object> operations = new ArrayList<>();
        for (Rates.Operation o : operations()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("part", o.part());
            one.put("meter", o.meter());
            one.put("tags", o.tags());
            one.put("per_second", o.perSecond());
            one.put("errors_per_second", o.errorsPerSecond());
            one.put("average_micros", o.averageMicros());
            one.put("p99_micros", o.p99Micros());
            one.put("max_micros", o.maxMicros());
            operations.add(one);
        }
        List<Object> flows = new ArrayList<>();
        for (Rates.Flow f : rates.flows()) {
            if (isShown(f.meter())) {
                Map<String, Object> one = new LinkedHashMap<>();
                one.put("part", f.part());
                one.put("meter", f.meter());
                one.put("tags", f.tags());
                one.put("bytes_per_second", f.bytesPerSecond());
                flows.add(one);
            }
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("seconds", rates.seconds());
        document.put("operations", operations);
        document.put("bytes", flows);
        return document;
    }

    private List<Rates.Operation> operations() {
        return rates.operations().stream().filter(o -> isShown(o.meter())).toList();
    }

    private boolean isShown(String meter) {
        return connections || !meter.startsWith("rpc_");
    }

    private String flows() {
        List<String> texts = new ArrayList<>();
        for (Rates.Flow f : rates.flows()) {
            if (isShown(f.meter())) {
                texts.add(
                        name(f.part(), f.meter(), f.tags())
                                + " "
                                + Sizes.text(Math.round(f.bytesPerSecond()))
                                + "/s");
            }
        }
        return String.join(", ", texts);
    }

    /** Says which part only where there are several. */
    private String name(String part, String meter, Map<String, String> tags) {
        List<String> words = new ArrayList<>(tags.values());
        words.addFirst(meter);
        if (severalParts) {
            words.addFirst(part);
        }
        return String.join(" ", words);
    }
}
