/**
 * Files and block devices: the superblock, the data file and its block allocator, the directory
 * with the server's identity. Reads and writes come down from the WAL, the store and the flusher,
 * all through {@link io.cairn.dataserver.disk.DeviceFile}, behind which tests put devices that
 * fail. No thread lives here: whoever calls waits for the device.
 */
@NullMarked
package io.cairn.dataserver.disk;

import org.jspecify.annotations.NullMarked;
