package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.file.Path;

/** Opens {@link DeviceFile}s: the one place where the kind of device is chosen. Any thread. */
public interface DeviceFiles {
    /** Opens an existing file or block device. */
    DeviceFile open(Path path) throws IOException;

    /**
     * Opens a file past the kernel's page cache, where its file system allows that: what is read is
     * what the medium has, and a write that failed is never taken for one that succeeded. Only
     * whole pages at whole pages, from and to {@link PageBuffers}.
     */
    default DeviceFile openDirect(Path path) throws IOException {
        return open(path);
    }

    /**
     * What the kernel's page cache has of a file is forgotten, unless it is still to be written:
     * after a sync that failed it is not what the medium has.
     */
    default void dropCache(Path path) throws IOException {}

    /** Creates a file of the size, reading as zeros, without allocating its space. */
    DeviceFile create(Path path, long sizeBytes) throws IOException;

    /** Makes the names in a directory durable. */
    void forceDirectory(Path directory) throws IOException;

    /** Files and block devices of the operating system. */
    static DeviceFiles system() {
        return new ChannelDeviceFiles();
    }
}
