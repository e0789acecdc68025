/**
 * Metrics, in one scheme for all modules. A module declares its meters in one enum of {@link
 * io.cairn.common.metrics.MeterSpec}s, {@code XMeter}, where each has its description; the manual
 * is generated from it. What is recorded goes through one class beside the enum, {@code XMeters},
 * which asks {@link io.cairn.common.metrics.Meters} for all of them once; the operations of a timer
 * are an enum ({@link io.cairn.common.metrics.Timers}). Current values are registered where they
 * are at hand.
 *
 * <p>{@link io.cairn.common.metrics.ProcessMetrics} publishes the meters of all parts of the
 * process, as beans of JMX ({@link io.cairn.common.metrics.Beans}) and as Prometheus text ({@link
 * io.cairn.common.metrics.Series}); Micrometer is not known elsewhere. Recording is for any thread
 * and waits for nobody.
 */
@NullMarked
package io.cairn.common.metrics;

import org.jspecify.annotations.NullMarked;
