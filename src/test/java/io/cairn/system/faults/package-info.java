/** What must survive: kills, paused processes, power cuts, full disks, dead clients. */
@NullMarked
package io.cairn.system.faults;

import org.jspecify.annotations.NullMarked;
