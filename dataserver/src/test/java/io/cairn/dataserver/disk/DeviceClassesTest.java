package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.DeviceClass;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DeviceClassesTest {
    @TempDir Path directory;

    @Test
    void aPartitionIsOfItsDisksClass() throws Exception {
        Path partition = Files.createDirectories(directory.resolve("sda/sda1"));
        assertThat(DeviceClasses.in(partition)).isEqualTo(DeviceClass.DEVICE_CLASS_UNKNOWN);
        Path rotational =
                Files.createDirectories(directory.resolve("sda/queue")).resolve("rotational");
        Files.writeString(rotational, "1\n");
        assertThat(DeviceClasses.in(partition)).isEqualTo(DeviceClass.DEVICE_CLASS_HDD);
        Files.writeString(rotational, "0\n");
        assertThat(DeviceClasses.in(partition)).isEqualTo(DeviceClass.DEVICE_CLASS_SSD);
    }

    @Test
    void whatIsOnNoDeviceIsOfNoClass() {
        assertThat(DeviceClasses.of(Path.of("/proc/self/maps")))
                .isEqualTo(DeviceClass.DEVICE_CLASS_UNKNOWN);
        assertThat(DeviceClasses.of(directory.resolve("missing")))
                .isEqualTo(DeviceClass.DEVICE_CLASS_UNKNOWN);
    }
}
