package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.file.Path;

/** Opens {@link DeviceFile}s: the one place where the kind of device is chosen. Any thread. */
public interface DeviceFiles {
    /** Opens an existing file or block device. */
    DeviceFile open(Path path) throws IOException;

    /** Creates a file of the size, reading as zeros, without allocating its space. */
    DeviceFile create(Path path, long sizeBytes) throws IOException;

    /** Makes the names in a directory durable. */
    void forceDirectory(Path directory) throws IOException;

    /** Files and block devices of the operating system. */
    static DeviceFiles system() {
        return new ChannelDeviceFiles();
    }
}
