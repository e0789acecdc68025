/**
 * Clocks. Those that order events can be replaced in tests; {@link io.cairn.common.time.BootClock}
 * goes on while the machine is suspended, which leases need. {@link io.cairn.common.time.WallClock}
 * stamps files and messages with the time of day. Any thread.
 */
@NullMarked
package io.cairn.common.time;

import org.jspecify.annotations.NullMarked;
