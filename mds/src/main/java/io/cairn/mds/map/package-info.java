/**
 * Placement: which disks hold a PG, computed from the cluster map alone.
 *
 * <p>A map goes into {@link io.cairn.mds.map.PgPlanner}, a PG table comes out; {@link
 * io.cairn.mds.map.MapState} and {@link io.cairn.mds.map.MapChecks} apply an increment to a map and
 * refuse what no map can hold.
 *
 * <p>Threads: none, clock and I/O neither; the same map gives the same table on every member.
 */
@NullMarked
package io.cairn.mds.map;

import org.jspecify.annotations.NullMarked;
