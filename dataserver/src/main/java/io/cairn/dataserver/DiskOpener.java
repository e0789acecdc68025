package io.cairn.dataserver;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.store.DiskRuntime;
import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.LocalDiskStore;
import java.util.UUID;

/** Opens a configured disk, recovering it or making it new. */
@FunctionalInterface
public interface DiskOpener {
    /**
     * Blocks while the disk recovers.
     *
     * @param cluster the disk must belong to it, and does from now on if it is new
     * @throws DataServerException naming the disk and what to do
     */
    DiskStore open(DataServerConfig.DiskTable disk, UUID cluster) throws DataServerException;

    /**
     * Disks of this machine.
     *
     * @param databases how their chunk indexes are opened
     */
    static DiskOpener local(IndexDatabases databases) {
        return (disk, cluster) -> {
            try {
                return LocalDiskStore.open(DiskConfig.of(disk), cluster, DiskRuntime.of(databases));
            } catch (DiskOpenException | IllegalArgumentException e) {
                throw new DataServerException(String.valueOf(e.getMessage()), e);
            }
        };
    }
}
