/**
 * The cluster map as its readers see it: servers, disks, pools, placement groups, refused sessions.
 * The metadata leader pushes a whole map or what changed, {@link io.cairn.common.map.MapBuilder}
 * makes the next one of it. Maps are immutable: any thread.
 */
@NullMarked
package io.cairn.common.map;

import org.jspecify.annotations.NullMarked;
