/**
 * Metrics: each module lists its meters in one enum of {@link io.cairn.common.metrics.MeterSpec}s,
 * {@link io.cairn.common.metrics.Meters} makes them, and {@link
 * io.cairn.common.metrics.ProcessMetrics} publishes all meters of the process by JMX and
 * Prometheus.
 */
@NullMarked
package io.cairn.common.metrics;

import org.jspecify.annotations.NullMarked;
