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
                                + "\n\n| Prometheus name | kind | tags | in JMX | meaning |\n|---|---|---|---|---|\n");
        for (MeterSpec meter : meters) {
            String tags = String.join(", ", meter.tagNames());
            out.append(
                    "| `"
                            + prometheusName(meter)
                            + "` | "
                            + meter.kind().name().toLowerCase(Locale.ROOT));
            out.append(
                    " | " + tags + " | " + jmxName(meter) + " | " + meter.description() + " |\n");
        }
        return out.toString();
    }

    /** The type of the bean, and the attribute where there is one for the meter. */
    private static String jmxName(MeterSpec meter) {
        String type = "`type=" + BeanNames.type(meter) + "`";
        return switch (meter.kind()) {
            case COUNTER, GAUGE, RATE -> type + " `" + BeanNames.attribute(meter) + "`";
            case TIMER, DISTRIBUTION -> type;
        };
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
            case GAUGE, RATE, DISTRIBUTION -> name + unit;
            case TIMER -> name + "_total, …_errors_total, …_time_seconds_total, …_latency_seconds";
        };
    }
}
