package io.cairn.dataserver.disk;

import io.cairn.common.proto.DeviceClass;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the kernel says that a device rotates. Any thread. */
public final class DeviceClasses {
    private static final Logger LOG = LoggerFactory.getLogger(DeviceClasses.class);
    private static final Path BLOCK = Path.of("/sys/class/block");

    private DeviceClasses() {}

    /**
     * Of the block device that a file is, or that its file system is on; {@code
     * DEVICE_CLASS_UNKNOWN} where there is none, as in memory or over the network.
     */
    public static DeviceClass of(Path data) {
        try {
            Path file = data.toRealPath();
            Path device =
                    file.startsWith("/dev")
                            ? file
                            : Path.of(Files.getFileStore(file).name()).toRealPath();
            return in(BLOCK.resolve(device.getFileName()).toRealPath());
        } catch (IOException e) {
            LOG.debug("the device of {} is not known", data, e);
            return DeviceClass.DEVICE_CLASS_UNKNOWN;
        }
    }

    /**
     * @param device its directory in sysfs; a partition's is below that of its disk
     */
    static DeviceClass in(Path device) throws IOException {
        for (Path directory = device; directory != null; directory = directory.getParent()) {
            Path rotational = directory.resolve("queue/rotational");
            if (Files.exists(rotational)) {
                return Files.readString(rotational).strip().equals("0")
                        ? DeviceClass.DEVICE_CLASS_SSD
                        : DeviceClass.DEVICE_CLASS_HDD;
            }
        }
        return DeviceClass.DEVICE_CLASS_UNKNOWN;
    }
}
