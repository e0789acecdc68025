/**
 * Clocks that can be replaced in tests. {@link io.cairn.common.time.BootClock} goes on while the
 * machine is suspended, which leases need. Any thread.
 */
@NullMarked
package io.cairn.common.time;

import org.jspecify.annotations.NullMarked;
