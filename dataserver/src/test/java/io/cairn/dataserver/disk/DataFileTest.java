package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The kernel tells of a failed sync once: whoever syncs next must not believe that all is well. */
class DataFileTest {
    private static final IOException ERROR = new IOException("Input/output error");

    @TempDir Path directory;
    private final FaultDevices devices = new FaultDevices(1);

    private DataFile create() throws IOException {
        return new DataFile(devices.create(directory.resolve("data"), 8 * 4096), 8 * 4096);
    }

    @Test
    void afterAFailedSyncNoneSucceeds() throws IOException {
        DataFile data = create();
        data.write(1, ByteBuffer.allocate(4096));
        devices.failForcesBelow(directory, ERROR);
        assertThatThrownBy(data::force).isSameAs(ERROR);
        devices.failForcesBelow(directory, null);
        assertThat(data.isFenced()).isTrue();
        assertThatThrownBy(data::force).hasMessageContaining("Input/output error");
        assertThatThrownBy(() -> data.write(2, ByteBuffer.allocate(4096)))
                .hasMessageContaining("takes nothing more");
    }

    @Test
    void afterAFailedWriteNoSyncSucceeds() throws IOException {
        DataFile data = create();
        devices.failWritesBelow(directory, ERROR);
        assertThatThrownBy(() -> data.write(1, ByteBuffer.allocate(4096))).isSameAs(ERROR);
        devices.failWritesBelow(directory, null);
        assertThatThrownBy(data::force).hasMessageContaining("Input/output error");
    }

    @Test
    void whatAnotherPartOfTheDiskFailedFencesIt() throws IOException {
        DataFile data = create();
        data.fence("the write-ahead log failed");
        assertThatThrownBy(data::force).hasMessageContaining("the write-ahead log failed");
    }
}
