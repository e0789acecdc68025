/**
 * The cluster as the leader knows it: data servers, the map of them, and the PG table.
 *
 * <p>Registrations and heartbeats come in from data servers; what they change in the map goes
 * through {@link io.cairn.mds.cluster.MapChanges} into the log, one change at a time. The applied
 * map comes back to {@link io.cairn.mds.cluster.CurrentMap}, which pushes it to data servers and
 * clients. {@link io.cairn.mds.cluster.PgCalls} carries the leader's own operations to the
 * primaries of PGs.
 *
 * <p>Threads: changes are made on the control thread; the map and the known servers are read on any
 * thread.
 */
@NullMarked
package io.cairn.mds.cluster;

import org.jspecify.annotations.NullMarked;
