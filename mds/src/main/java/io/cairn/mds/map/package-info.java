/**
 * Placement: which disks hold a PG, computed from the cluster map alone.
 *
 * <p>A map goes into {@link io.cairn.mds.map.PgPlanner}, a PG table comes out; {@link
 * io.cairn.mds.map.MapChecks} refuses increments after which a map would be what no map can be.
 *
 * <p>Threads: none, clock and I/O neither; the same map gives the same table on every member.
 */
@NullMarked
package io.cairn.mds.map;

import org.jspecify.annotations.NullMarked;
