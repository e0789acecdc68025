package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.FatalHandler;

/**
 * What a disk needs of the process it runs in.
 *
 * @param calls accounts for what is asked of the index; {@code files} accounts for the rest itself
 * @param fatal told once nothing more can be acknowledged; the disk then takes no more writes, and
 *     is to be asked nothing any more
 * @param background whether the flusher runs by itself; else its owner drives it
 */
public record DiskRuntime(
        IndexDatabases databases,
        DeviceFiles files,
        DiskCalls calls,
        FatalHandler fatal,
        boolean background) {
    /** Of a disk that nobody watches. */
    public DiskRuntime(
            IndexDatabases databases, DeviceFiles files, FatalHandler fatal, boolean background) {
        this(databases, files, DiskCalls.unwatched(), fatal, background);
    }

    /** The same, but told elsewhere of a failure. */
    DiskRuntime with(FatalHandler handler) {
        return new DiskRuntime(databases, files, calls, handler, background);
    }
}
