package io.cairn.dataserver;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.WatchedDevices;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.store.DiskRuntime;
import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.LocalDiskStore;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Opens a configured disk, recovering it or making it new. */
@FunctionalInterface
public interface DiskOpener {
    /**
     * What to open, and for whom.
     *
     * @param cluster the disk must belong to it, and does from now on if it is new
     * @param known the identity of the disk that was there at an earlier start: where it is gone,
     *     none is made anew; null if there was none
     * @param calls accounts for the calls to it
     * @param failed told when the disk cannot serve any more
     */
    record Wanted(
            DataServerConfig.DiskTable table,
            UUID cluster,
            @Nullable UUID known,
            DiskCalls calls,
            FatalHandler failed) {}

    /**
     * Blocks while the disk recovers.
     *
     * @throws DataServerException naming the disk and what to do
     */
    DiskStore open(Wanted wanted) throws DataServerException;

    /**
     * Disks of this machine.
     *
     * @param databases how their chunk indexes are opened
     */
    static DiskOpener local(IndexDatabases databases) {
        return local(databases, DeviceFiles.system());
    }

    /** Disks on these devices. */
    static DiskOpener local(IndexDatabases databases, DeviceFiles files) {
        return wanted -> {
            try {
                return LocalDiskStore.open(
                        DiskConfig.of(wanted.table()),
                        wanted.cluster(),
                        wanted.known(),
                        new DiskRuntime(
                                databases,
                                new WatchedDevices(files, wanted.calls(), wanted.table().wal()),
                                wanted.calls(),
                                wanted.failed(),
                                true));
            } catch (DiskOpenException | RuntimeException e) {
                throw new DataServerException(String.valueOf(e.getMessage()), e);
            }
        };
    }
}
