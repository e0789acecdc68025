package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of the operating system, read and written past its page cache where that can be. */
class SystemDevicesTest {
    @TempDir Path directory;

    @Test
    void whatIsWrittenPastTheCacheIsReadThroughIt() throws Exception {
        roundTrip(directory);
    }

    @Test
    void aFileSystemInMemoryWillDo() throws Exception {
        Path memory = Path.of("/dev/shm");
        if (Files.isWritable(memory)) {
            roundTrip(Files.createTempDirectory(memory, "cairn-devices"));
        }
    }

    private static void roundTrip(Path in) throws Exception {
        Path file = in.resolve("file");
        DeviceFiles files = DeviceFiles.system();
        files.create(file, 1 << 20).close();
        try (DeviceFile direct = files.openDirect(file);
                DeviceFile cached = files.open(file)) {
            for (int round = 1; round < 4; round++) {
                ByteBuffer page = PageBuffers.allocate(3 * DeviceFile.PAGE_BYTES);
                page.putLong(0, round).putLong(2 * DeviceFile.PAGE_BYTES, -round);
                direct.write(page.slice(0, page.capacity()), 8192);
                direct.force();
                ByteBuffer some = ByteBuffer.allocate(8);
                cached.read(some, 8192);
                assertThat(Long.reverseBytes(some.getLong(0))).isEqualTo(round);
                files.dropCache(file);
                ByteBuffer all = PageBuffers.allocate(3 * DeviceFile.PAGE_BYTES);
                direct.read(all, 8192);
                assertThat(all.flip()).isEqualTo(page.rewind());
            }
        } finally {
            Files.delete(file);
            if (in.startsWith("/dev/shm")) {
                Files.delete(in);
            }
        }
    }

    @Test
    void pageBuffersBeginAtAPage() {
        for (int bytes : new int[] {1, 4096, 5000, 1 << 20}) {
            ByteBuffer b = PageBuffers.allocate(bytes);
            assertThat(b.alignmentOffset(0, DeviceFile.PAGE_BYTES)).isZero();
            assertThat(b.capacity()).isEqualTo(PageBuffers.wholePages(bytes));
        }
    }
}
