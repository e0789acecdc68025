package io.cairn.common.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Makes the meters of one part (one server or mount), from its {@link MeterSpec}s. Several parts
 * may live in one process: every meter carries the tag {@code part}. Any thread; asking twice for
 * the same meter gives the same one.
 *
 * <p>A timer {@code cairn.mds.operation} appears in Prometheus as {@code
 * cairn_mds_operation_total}, {@code …_operation_errors_total}, {@code
 * …_operation_time_seconds_total} and {@code
 * …_operation_latency_seconds{quantile="0.5|0.99|0.999|1"}}, and in JMX under the same names in
 * camel case. Both read the same snapshot. Quantile 1 is the longest since the start.
 */
public final class Meters implements AutoCloseable {
    private final MeterRegistry registry;
    private final String part;
    private final LongSupplier nanoClock;
    private final List<Meter> registered = new CopyOnWriteArrayList<>();
    private final Map<String, Object> made = new HashMap<>();

    Meters(MeterRegistry registry, String part, LongSupplier nanoClock) {
        this.registry = registry;
        this.part = part;
        this.nanoClock = nanoClock;
    }

    /** Meters that nobody publishes, for tests. */
    public static Meters unpublished() {
        return new Meters(new SimpleMeterRegistry(), "test", System::nanoTime);
    }

    /**
     * Meters of the same part that are closed on their own, for something shorter-lived than the
     * part.
     */
    public Meters scope() {
        return new Meters(registry, part, nanoClock);
    }

    /** The registry, for binders of libraries. */
    public MeterRegistry registry() {
        return registry;
    }

    public Counter counter(MeterSpec spec, String... tagValues) {
        return once(
                spec,
                MeterSpec.Kind.COUNTER,
                tagValues,
                () -> {
                    Counter counter =
                            Counter.builder(spec.meterName())
                                    .description(spec.description())
                                    .baseUnit(unitOrNull(spec.unit()))
                                    .tags(tags(spec, tagValues))
                                    .register(registry);
                    registered.add(counter);
                    return counter;
                },
                Counter.class);
    }

    /**
     * Publishes a counter that the caller keeps; {@code value} must never decrease. Any thread may
     * call it.
     */
    public void counter(MeterSpec spec, DoubleSupplier value, String... tagValues) {
        check(spec, MeterSpec.Kind.COUNTER, tagValues);
        function(spec.meterName(), spec.unit(), spec.description(), tags(spec, tagValues), value);
    }

    /**
     * Publishes a current value. {@code value} is called by any thread that reads the metrics and
     * must not block.
     */
    public void gauge(MeterSpec spec, DoubleSupplier value, String... tagValues) {
        check(spec, MeterSpec.Kind.GAUGE, tagValues);
        gauge(spec.meterName(), spec.unit(), spec.description(), tags(spec, tagValues), value);
    }

    public OperationTimer timer(MeterSpec spec, String... tagValues) {
        return once(
                spec,
                MeterSpec.Kind.TIMER,
                tagValues,
                () -> {
                    OperationTimer timer = new OperationTimer(nanoClock);
                    String name = spec.meterName();
                    String what = spec.description();
                    Tags tags = tags(spec, tagValues);
                    function(name, "", what, tags, () -> timer.values().number());
                    function(name + ".errors", "", what + " (failed)", tags, timer::errors);
                    function(
                            name + ".time",
                            "seconds",
                            what + " (total time)",
                            tags,
                            () -> timer.values().sum() / 1e9);
                    quantiles(
                            name + ".latency",
                            "seconds",
                            what + " (latency)",
                            tags,
                            timer.values(),
                            1e9);
                    return timer;
                },
                OperationTimer.class);
    }

    public Distribution distribution(MeterSpec spec, String... tagValues) {
        return once(
                spec,
                MeterSpec.Kind.DISTRIBUTION,
                tagValues,
                () -> {
                    Distribution distribution = new Distribution(nanoClock);
                    String name = spec.meterName();
                    String what = spec.description();
                    Tags tags = tags(spec, tagValues);
                    function(
                            name + ".count",
                            "",
                            what + " (number)",
                            tags,
                            () -> distribution.values().number());
                    function(
                            name + ".sum",
                            spec.unit(),
                            what + " (sum)",
                            tags,
                            () -> distribution.values().sum());
                    quantiles(name, spec.unit(), what, tags, distribution.values(), 1);
                    return distribution;
                },
                Distribution.class);
    }

    /** Takes the meters made by this object out of the registry. */
    @Override
    public void close() {
        for (Meter meter : registered) {
            registry.remove(meter);
            meter.close();
        }
        registered.clear();
    }

    private void quantiles(
            String name, String unit, String what, Tags tags, RecentValues values, double divisor) {
        quantile(
                name,
                unit,
                what,
                tags.and("quantile", "0.5"),
                values,
                RecentValues.Snapshot::p50,
                divisor);
        quantile(
                name,
                unit,
                what,
                tags.and("quantile", "0.99"),
                values,
                RecentValues.Snapshot::p99,
                divisor);
        quantile(
                name,
                unit,
                what,
                tags.and("quantile", "0.999"),
                values,
                RecentValues.Snapshot::p999,
                divisor);
        quantile(
                name,
                unit,
                what,
                tags.and("quantile", "1"),
                values,
                RecentValues.Snapshot::max,
                divisor);
    }

    private void quantile(
            String name,
            String unit,
            String what,
            Tags tags,
            RecentValues values,
            ToLongFunction<RecentValues.Snapshot> which,
            double divisor) {
        gauge(name, unit, what, tags, () -> which.applyAsLong(values.snapshot()) / divisor);
    }

    private void gauge(String name, String unit, String what, Tags tags, DoubleSupplier value) {
        registered.add(
                Gauge.builder(name, value::getAsDouble)
                        .strongReference(true)
                        .description(what)
                        .baseUnit(unitOrNull(unit))
                        .tags(tags)
                        .register(registry));
    }

    private void function(String name, String unit, String what, Tags tags, DoubleSupplier value) {
        synchronized (made) {
            made.put(name + tags + "#function", value); // the registry itself holds it only weakly
        }
        registered.add(
                FunctionCounter.builder(name, value, DoubleSupplier::getAsDouble)
                        .description(what)
                        .baseUnit(unitOrNull(unit))
                        .tags(tags)
                        .register(registry));
    }

    private <T> T once(
            MeterSpec spec,
            MeterSpec.Kind kind,
            String[] tagValues,
            Supplier<T> make,
            Class<T> type) {
        check(spec, kind, tagValues);
        String id = spec.meterName() + List.of(tagValues);
        synchronized (made) {
            Object known = made.get(id);
            if (known == null) {
                known = make.get();
                made.put(id, known);
            }
            return type.cast(known);
        }
    }

    private static void check(MeterSpec spec, MeterSpec.Kind kind, String[] tagValues) {
        if (spec.kind() != kind || spec.tagNames().size() != tagValues.length) {
            throw new IllegalArgumentException(
                    spec
                            + " is a "
                            + spec.kind()
                            + " with tags "
                            + spec.tagNames()
                            + ", asked for a "
                            + kind);
        }
    }

    private static @Nullable String unitOrNull(String unit) {
        return unit.isEmpty() ? null : unit;
    }

    private Tags tags(MeterSpec spec, String[] values) {
        Tags tags = Tags.of("part", part);
        for (int i = 0; i < values.length; i++) {
            tags = tags.and(spec.tagNames().get(i), values[i]);
        }
        return tags;
    }
}
