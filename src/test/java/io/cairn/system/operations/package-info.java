/**
 * What administrators do: options and exit codes, mounts by fstab and without root, NFS gateways,
 * metrics, ports that face the network, the package, its units and its image.
 */
@NullMarked
package io.cairn.system.operations;

import org.jspecify.annotations.NullMarked;
