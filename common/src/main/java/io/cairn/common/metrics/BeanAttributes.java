package io.cairn.common.metrics;

import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * What the beans show of each kind of meter. The unit of a number stands at the end of its name:
 * {@code P99Micros}, {@code WalUsedBytes}; a name without one counts things. Fractions are doubles,
 * all else is whole.
 */
final class BeanAttributes {
    private BeanAttributes() {}

    static List<BeanAttribute> counter(MeterSpec spec, LongSupplier value) {
        return List.of(
                BeanAttribute.whole(
                        BeanNames.attribute(spec),
                        spec.description() + " (since the start)",
                        value));
    }

    static List<BeanAttribute> gauge(MeterSpec spec, DoubleSupplier value) {
        String name = BeanNames.attribute(spec);
        boolean fraction = spec.kind() == MeterSpec.Kind.RATE || spec.unit().equals("seconds");
        return List.of(
                fraction
                        ? BeanAttribute.fraction(name, spec.description(), value)
                        : BeanAttribute.whole(
                                name, spec.description(), () -> whole(value.getAsDouble())));
    }

    static List<BeanAttribute> timer(OperationTimer timer) {
        RecentValues values = timer.values();
        return List.of(
                BeanAttribute.whole(
                        "Count", "Operations since the start, failed ones included", timer::count),
                BeanAttribute.whole(
                        "Errors", "Operations that failed, since the start", timer::errors),
                BeanAttribute.whole(
                        "TotalMicros",
                        "Time of all operations since the start, in microseconds",
                        () -> values.sum() / 1000),
                micros("P50Micros", "Median latency, lately", values, RecentValues.Snapshot::p50),
                micros(
                        "P99Micros",
                        "Latency that 99 % of the operations did not exceed, lately",
                        values,
                        RecentValues.Snapshot::p99),
                micros(
                        "P999Micros",
                        "Latency that 99.9 % of the operations did not exceed, lately",
                        values,
                        RecentValues.Snapshot::p999),
                micros(
                        "MaxMicros",
                        "Longest latency since the start",
                        values,
                        RecentValues.Snapshot::max));
    }

    static List<BeanAttribute> distribution(MeterSpec spec, Distribution distribution) {
        RecentValues values = distribution.values();
        return List.of(
                BeanAttribute.whole("Count", "Values since the start", distribution::count),
                size(spec, "Sum", "Sum of all values since the start", values::sum),
                size(spec, "P50", "Median, lately", () -> values.snapshot().p50()),
                size(
                        spec,
                        "P99",
                        "What 99 % of the values did not exceed, lately",
                        () -> values.snapshot().p99()),
                size(
                        spec,
                        "P999",
                        "What 99.9 % of the values did not exceed, lately",
                        () -> values.snapshot().p999()),
                size(spec, "Max", "Largest since the start", () -> values.snapshot().max()));
    }

    /** Of the bean that shows the meter, maybe among others. */
    static String beanDescription(MeterSpec spec) {
        return switch (spec.kind()) {
            case TIMER, DISTRIBUTION -> spec.description();
            case COUNTER, GAUGE, RATE ->
                    "Counters and current values, " + spec.prefix() + " in Prometheus";
        };
    }

    private static BeanAttribute micros(
            String name,
            String description,
            RecentValues values,
            ToLongFunction<RecentValues.Snapshot> which) {
        return BeanAttribute.fraction(
                name,
                description + ", in microseconds",
                () -> which.applyAsLong(values.snapshot()) / 1e3);
    }

    private static BeanAttribute size(
            MeterSpec spec, String name, String description, LongSupplier value) {
        return BeanAttribute.whole(BeanNames.withUnit(name, spec.unit()), description, value);
    }

    private static long whole(double value) {
        if (Double.isNaN(value)) {
            throw new IllegalStateException("the value is not known now");
        }
        return (long) value;
    }
}
