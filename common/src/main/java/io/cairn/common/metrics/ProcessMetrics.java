package io.cairn.common.metrics;

import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;

/**
 * All metrics of the process: published as beans of JMX in the domain {@code io.cairn} and as
 * Prometheus text. The JVM's own are in Prometheus too; in JMX the platform has them. One per
 * process, made by its main class; the parts get {@link #part}.
 */
public final class ProcessMetrics implements AutoCloseable {
    private final PrometheusMeterRegistry prometheus =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final JvmGcMetrics collector = new JvmGcMetrics();
    private final Beans beans;

    public ProcessMetrics() {
        this(ManagementFactory.getPlatformMBeanServer());
    }

    /**
     * @param server gets the beans
     */
    ProcessMetrics(MBeanServer server) {
        beans = new Beans(server);
        new JvmMemoryMetrics().bindTo(prometheus);
        new JvmThreadMetrics().bindTo(prometheus);
        new ClassLoaderMetrics().bindTo(prometheus);
        new ProcessorMetrics().bindTo(prometheus);
        new UptimeMetrics().bindTo(prometheus);
        new FileDescriptorMetrics().bindTo(prometheus);
        collector.bindTo(prometheus);
    }

    /** The meters of one part of the process, such as {@code mds-1}; closed when it stops. */
    public Meters part(String name) {
        return new Meters(prometheus, beans, name, System::nanoTime);
    }

    /** All metrics in Prometheus's text format. */
    public String scrape() {
        return prometheus.scrape();
    }

    @Override
    public void close() {
        beans.close();
        collector.close();
        prometheus.close();
    }
}
