/**
 * Deterministic simulation: the state machines of replication, leases and membership run together
 * in one thread and simulated time, on machines that crash, pause and drift, a network that loses,
 * delays, repeats and reorders, and disks that lose what was not synced.
 *
 * <p>{@link io.cairn.sim.ClusterSim} puts the parts together; a run is its seed. Nothing here
 * sleeps or reads a clock.
 */
@NullMarked
package io.cairn.sim;

import org.jspecify.annotations.NullMarked;
