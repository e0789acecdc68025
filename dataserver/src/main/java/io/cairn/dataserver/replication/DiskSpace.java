package io.cairn.dataserver.replication;

/**
 * What a disk reports of its space.
 *
 * @param admissibleBytes see {@link io.cairn.dataserver.store.DiskStore#admissibleBytes}
 * @param growing see {@link io.cairn.dataserver.store.DiskStore#isGrowing}
 */
public record DiskSpace(long admissibleBytes, boolean growing) {}
