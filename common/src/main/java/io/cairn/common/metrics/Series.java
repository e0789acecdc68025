package io.cairn.common.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The time series of one meter in Micrometer's registry, which writes them for Prometheus. Made and
 * closed by one thread at a time.
 */
final class Series {
    private final MeterRegistry registry;
    private final MeterSpec spec;
    private final Tags tags;
    private final List<Meter> registered = new ArrayList<>();

    /** The registry itself holds what it counts with only weakly. */
    private final List<DoubleSupplier> held = new ArrayList<>();

    Series(MeterRegistry registry, MeterSpec spec, String part, List<String> tagValues) {
        this.registry = registry;
        this.spec = spec;
        Tags all = Tags.of("part", part);
        for (int i = 0; i < tagValues.size(); i++) {
            all = all.and(spec.tagNames().get(i), tagValues.get(i));
        }
        this.tags = all;
    }

    void counter(DoubleSupplier value) {
        function("", spec.unit(), "", value);
    }

    void gauge(DoubleSupplier value) {
        gauge("", spec.unit(), "", tags, value);
    }

    void timer(OperationTimer timer) {
        function("", "", "", timer::count);
        function(".errors", "", " (failed)", timer::errors);
        function(".time", "seconds", " (total time)", () -> timer.values().sum() / 1e9);
        quantiles(".latency", "seconds", " (latency)", timer.values(), 1e9);
    }

    void distribution(Distribution distribution) {
        function(".count", "", " (number)", distribution::count);
        function(".sum", spec.unit(), " (sum)", () -> distribution.values().sum());
        quantiles("", spec.unit(), "", distribution.values(), 1);
    }

    void close() {
        for (Meter meter : registered) {
            registry.remove(meter);
            meter.close();
        }
    }

    private void quantiles(
            String suffix, String unit, String what, RecentValues values, double divisor) {
        quantile(suffix, unit, what, "0.5", values, RecentValues.Snapshot::p50, divisor);
        quantile(suffix, unit, what, "0.99", values, RecentValues.Snapshot::p99, divisor);
        quantile(suffix, unit, what, "0.999", values, RecentValues.Snapshot::p999, divisor);
        quantile(suffix, unit, what, "1", values, RecentValues.Snapshot::max, divisor);
    }

    private void quantile(
            String suffix,
            String unit,
            String what,
            String quantile,
            RecentValues values,
            ToLongFunction<RecentValues.Snapshot> which,
            double divisor) {
        gauge(
                suffix,
                unit,
                what,
                tags.and("quantile", quantile),
                () -> which.applyAsLong(values.snapshot()) / divisor);
    }

    private void gauge(String suffix, String unit, String what, Tags all, DoubleSupplier value) {
        registered.add(
                Gauge.builder(spec.meterName() + suffix, value::getAsDouble)
                        .strongReference(true)
                        .description(spec.description() + what)
                        .baseUnit(unitOrNull(unit))
                        .tags(all)
                        .register(registry));
    }

    private void function(String suffix, String unit, String what, DoubleSupplier value) {
        held.add(value);
        registered.add(
                FunctionCounter.builder(
                                spec.meterName() + suffix, value, DoubleSupplier::getAsDouble)
                        .description(spec.description() + what)
                        .baseUnit(unitOrNull(unit))
                        .tags(tags)
                        .register(registry));
    }

    private static @Nullable String unitOrNull(String unit) {
        return unit.isEmpty() ? null : unit;
    }
}
