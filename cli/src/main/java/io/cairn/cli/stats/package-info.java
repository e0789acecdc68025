/**
 * Live rates and latencies of one part: {@link io.cairn.cli.stats.MetricsReader} reads its metrics,
 * {@link io.cairn.cli.stats.Rates} is what two readings differ by, and {@link
 * io.cairn.cli.stats.StatsReport} shows it. Used by the main thread.
 */
@NullMarked
package io.cairn.cli.stats;

import org.jspecify.annotations.NullMarked;
