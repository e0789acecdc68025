/**
 * The files this client has open: the newest attributes of each, the order of its operations, and
 * what its writes made of size and times until the MDS knows. A read or write waits for its turn,
 * is cut into pieces for {@code data}, and leaves size and times to be published by {@code meta}.
 * When the session ends, each file is opened again in the next one behind all that began in the
 * old. Any thread; each inode is guarded by its own monitor, and no future completes under it.
 */
@NullMarked
package io.cairn.client.inode;

import org.jspecify.annotations.NullMarked;
