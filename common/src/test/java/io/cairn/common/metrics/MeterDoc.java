package io.cairn.common.metrics;

import java.util.List;
import java.util.Locale;

/** Writes the manual of meters from the enums that define them. */
public final class MeterDoc {
    private MeterDoc() {}

    /** One module's section. */
    public static String markdown(String title, List<? extends MeterSpec> meters) {
        StringBuilder out =
                new StringBuilder(
                        "## "
                                + title
                                + "\n\n| Prometheus name | kind | tags | meaning |\n|---|---|---|---|\n");
        for (MeterSpec meter : meters) {
            String tags = String.join(", ", meter.tagNames());
            out.append(
                    "| `"
                            + prometheusName(meter)
                            + "` | "
                            + meter.kind().name().toLowerCase(Locale.ROOT));
            out.append(" | " + tags + " | " + meter.description() + " |\n");
        }
        return out.toString();
    }

    /**
     * The name that identifies the meter in Prometheus; timers and distributions add suffixes of
     * their own.
     */
    static String prometheusName(MeterSpec meter) {
        String name = meter.meterName().replace('.', '_');
        String unit =
                meter.unit().isEmpty() || name.endsWith("_" + meter.unit())
                        ? ""
                        : "_" + meter.unit();
        return switch (meter.kind()) {
            case COUNTER -> name + unit + "_total";
            case GAUGE, DISTRIBUTION -> name + unit;
            case TIMER -> name + "_total, …_errors_total, …_time_seconds_total, …_latency_seconds";
        };
    }
}
