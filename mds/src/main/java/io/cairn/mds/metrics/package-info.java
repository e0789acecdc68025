/**
 * The meters of the metadata server.
 *
 * <p>Requests and background work record to {@link io.cairn.mds.metrics.MdsMeters}, which holds the
 * meters that {@link io.cairn.mds.metrics.MdsMeter} names. Nothing is read back from here.
 *
 * <p>Threads: any.
 */
@NullMarked
package io.cairn.mds.metrics;

import org.jspecify.annotations.NullMarked;
