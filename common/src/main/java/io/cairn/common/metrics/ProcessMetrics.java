package io.cairn.common.metrics;

import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.jmx.JmxConfig;
import io.micrometer.jmx.JmxMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * All metrics of the process: published by JMX in the domain {@code cairn} and as Prometheus text.
 * One per process, made by its main class; the parts get {@link #part}.
 */
public final class ProcessMetrics implements AutoCloseable {
    private final CompositeMeterRegistry all = new CompositeMeterRegistry();
    private final PrometheusMeterRegistry prometheus =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final JvmGcMetrics collector = new JvmGcMetrics();

    public ProcessMetrics() {
        all.add(prometheus);
        all.add(new JmxMeterRegistry(new CairnDomain(), Clock.SYSTEM));
        new JvmMemoryMetrics().bindTo(all);
        new JvmThreadMetrics().bindTo(all);
        new ClassLoaderMetrics().bindTo(all);
        new ProcessorMetrics().bindTo(all);
        new UptimeMetrics().bindTo(all);
        new FileDescriptorMetrics().bindTo(all);
        collector.bindTo(all);
    }

    /** The meters of one part of the process, such as {@code mds-1}. */
    public Meters part(String name) {
        return new Meters(all, name, System::nanoTime);
    }

    public MeterRegistry registry() {
        return all;
    }

    /** All metrics in Prometheus's text format. */
    public String scrape() {
        return prometheus.scrape();
    }

    @Override
    public void close() {
        collector.close();
        all.getRegistries().forEach(MeterRegistry::close);
        all.close();
    }

    private static final class CairnDomain implements JmxConfig {
        @Override
        public @Nullable String get(String key) {
            return null;
        }

        @Override
        public String domain() {
            return "cairn";
        }
    }
}
