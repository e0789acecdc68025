/**
 * One data server as a whole: {@link io.cairn.dataserver.DataServer} opens the disks, binds the
 * port, puts the rooms below together and closes them again. A write passes each room once on its
 * way down, {@code service}, {@code pg}, {@code replication}, {@code store}, {@code wal}, and its
 * acknowledgement the same rooms on its way up; maps and leases come from {@code mdslink}. What is
 * public here may be called by any thread; the threads themselves belong to the rooms.
 */
@NullMarked
package io.cairn.dataserver;

import org.jspecify.annotations.NullMarked;
