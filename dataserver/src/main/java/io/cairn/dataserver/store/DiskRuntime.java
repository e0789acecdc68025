package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.FatalHandler;

/**
 * What a disk needs of the process it runs in.
 *
 * @param background whether the flusher runs by itself; else its owner drives it
 */
public record DiskRuntime(
        IndexDatabases databases, DeviceFiles files, FatalHandler fatal, boolean background) {

    /** Real devices; a failed one stops the process. */
    public static DiskRuntime of(IndexDatabases databases) {
        return new DiskRuntime(databases, DeviceFiles.system(), FatalHandler.halt(), true);
    }

    /** The same with another handler of failures. */
    DiskRuntime with(FatalHandler other) {
        return new DiskRuntime(databases, files, other, background);
    }
}
