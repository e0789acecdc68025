package io.cairn.common.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes the meters of one part (one server or mount), from its {@link MeterSpec}s. Several parts
 * may live in one process: every meter carries the tag {@code part}. Any thread; asking twice for
 * the same meter gives the same one.
 *
 * <p>A timer {@code cairn.mds.operation} appears in Prometheus as {@code
 * cairn_mds_operation_total}, {@code …_operation_errors_total}, {@code
 * …_operation_time_seconds_total} and {@code
 * …_operation_latency_seconds{quantile="0.5|0.99|0.999|1"}}, and in JMX as the bean {@code
 * io.cairn:type=MdsOperation,part=…,op=…} ({@link BeanNames}). Both read the same snapshot.
 * Quantile 1 is the longest since the start.
 */
public final class Meters implements AutoCloseable {
    private final MeterRegistry registry;
    private final @Nullable Beans beans;
    private final String part;
    private final LongSupplier nanoClock;
    private final Map<String, Object> made = new HashMap<>();
    private final List<Runnable> shown = new ArrayList<>();
    private boolean closed;

    /**
     * @param beans null where JMX does not show them
     */
    Meters(MeterRegistry registry, @Nullable Beans beans, String part, LongSupplier nanoClock) {
        this.registry = registry;
        this.beans = beans;
        this.part = part;
        this.nanoClock = nanoClock;
    }

    /** Meters that nobody publishes, for tests. */
    public static Meters unpublished() {
        return new Meters(new SimpleMeterRegistry(), null, "test", System::nanoTime);
    }

    /**
     * Meters of the same part that are closed on their own, for something shorter-lived than the
     * part.
     */
    public Meters scope() {
        return new Meters(registry, beans, part, nanoClock);
    }

    /** What is published, for tests. */
    public MeterRegistry registry() {
        return registry;
    }

    public Counter counter(MeterSpec spec, String... tagValues) {
        return once(
                Counter.class,
                spec,
                MeterSpec.Kind.COUNTER,
                List.of(tagValues),
                Counter::new,
                counter -> {
                    series(spec, tagValues, s -> s.counter(counter::count));
                    bean(spec, tagValues, BeanAttributes.counter(spec, counter::count));
                });
    }

    /**
     * Publishes a counter that the caller keeps; {@code value} must never decrease. Any thread may
     * call it.
     */
    public void counter(MeterSpec spec, LongSupplier value, String... tagValues) {
        check(spec, MeterSpec.Kind.COUNTER, List.of(tagValues));
        series(spec, tagValues, s -> s.counter(value::getAsLong));
        bean(spec, tagValues, BeanAttributes.counter(spec, value));
    }

    /**
     * Publishes a current value. {@code value} is called by any thread that reads the metrics and
     * must not block. NaN stands for a value that cannot be told now.
     */
    public void gauge(MeterSpec spec, DoubleSupplier value, String... tagValues) {
        MeterSpec.Kind kind =
                spec.kind() == MeterSpec.Kind.RATE ? MeterSpec.Kind.RATE : MeterSpec.Kind.GAUGE;
        check(spec, kind, List.of(tagValues));
        series(spec, tagValues, s -> s.gauge(value));
        bean(spec, tagValues, BeanAttributes.gauge(spec, value));
    }

    public OperationTimer timer(MeterSpec spec, String... tagValues) {
        return once(
                OperationTimer.class,
                spec,
                MeterSpec.Kind.TIMER,
                List.of(tagValues),
                () -> new OperationTimer(nanoClock),
                timer -> {
                    series(spec, tagValues, s -> s.timer(timer));
                    bean(spec, tagValues, BeanAttributes.timer(timer));
                });
    }

    /**
     * A timer for each operation of a meter whose only tag is the operation.
     *
     * @param published those that are shown from now on; others from their first use on
     */
    public <O extends Enum<O>> Timers<O> timers(MeterSpec spec, Collection<O> published) {
        return new Timers<>(published, operation -> timer(spec, operation));
    }

    public Distribution distribution(MeterSpec spec, String... tagValues) {
        return once(
                Distribution.class,
                spec,
                MeterSpec.Kind.DISTRIBUTION,
                List.of(tagValues),
                () -> new Distribution(nanoClock),
                distribution -> {
                    series(spec, tagValues, s -> s.distribution(distribution));
                    bean(spec, tagValues, BeanAttributes.distribution(spec, distribution));
                });
    }

    /**
     * Takes the meters made by this object away from Prometheus and JMX. Those who have one may go
     * on recording to it, and what is made later is not published.
     */
    @Override
    public void close() {
        synchronized (made) {
            closed = true;
            shown.forEach(Runnable::run);
            shown.clear();
        }
    }

    private void series(MeterSpec spec, String[] tagValues, Consumer<Series> fill) {
        synchronized (made) {
            if (!closed) {
                Series series = new Series(registry, spec, part, List.of(tagValues));
                fill.accept(series);
                shown.add(series::close);
            }
        }
    }

    private void bean(MeterSpec spec, String[] tagValues, List<BeanAttribute> attributes) {
        synchronized (made) {
            if (beans != null && !closed) {
                shown.add(
                        beans.show(
                                BeanNames.of(spec, part, List.of(tagValues)),
                                BeanAttributes.beanDescription(spec),
                                attributes));
            }
        }
    }

    private <T> T once(
            Class<T> type,
            MeterSpec spec,
            MeterSpec.Kind kind,
            List<String> tagValues,
            Supplier<T> make,
            Consumer<T> publish) {
        check(spec, kind, tagValues);
        String id = spec.meterName() + tagValues;
        synchronized (made) {
            Object known = made.get(id);
            if (known == null) {
                T first = make.get();
                made.put(id, first);
                publish.accept(first);
                return first;
            }
            return type.cast(known);
        }
    }

    private static void check(MeterSpec spec, MeterSpec.Kind kind, List<String> tagValues) {
        if (spec.kind() != kind || spec.tagNames().size() != tagValues.size()) {
            throw new IllegalArgumentException(
                    "%s is a %s with tags %s, asked for a %s with values %s"
                            .formatted(spec, spec.kind(), spec.tagNames(), kind, tagValues));
        }
    }
}
