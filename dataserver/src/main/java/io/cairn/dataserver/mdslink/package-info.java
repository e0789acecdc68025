/**
 * The link to the metadata service (MDS): to which cluster this server belongs, registration,
 * heartbeats, the lease and the cluster map. Reports about the disks go to the MDS leader; the
 * lease that it grants and the maps that it pushes go down to {@code pg}. The link runs on one
 * event loop; only {@link io.cairn.dataserver.mdslink.ClusterIdentity} blocks, on the thread that
 * starts the server.
 */
@NullMarked
package io.cairn.dataserver.mdslink;

import org.jspecify.annotations.NullMarked;
