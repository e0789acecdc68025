/**
 * The meters of the metadata server: {@link io.cairn.mds.metrics.MdsMeter} names and describes
 * them.
 *
 * <p>Requests and background work record to {@link io.cairn.mds.metrics.MdsMeters}, and the
 * process's metrics publish what was recorded. Nothing here calls other rooms.
 *
 * <p>Threads: any thread records, without waiting.
 */
@NullMarked
package io.cairn.mds.metrics;

import org.jspecify.annotations.NullMarked;
