package io.cairn.common.libc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileSpaceTest {
    @TempDir Path directory;

    @Test
    void keepsContentAndSizeAndPunchedRangesAreZeros() throws Exception {
        Path file = directory.resolve("file");
        byte[] bytes = new byte[20_000];
        bytes[0] = 1;
        bytes[5000] = 2;
        bytes[19_999] = 3;
        Files.write(file, bytes);
        assumeTrue(FileSpace.reserve(file, 0, 1 << 20) == FileSpace.Outcome.DONE);
        assertThat(Files.readAllBytes(file)).isEqualTo(bytes);
        long allocated = FileSpace.allocatedBytes(file);
        assertThat(allocated).isGreaterThanOrEqualTo(1 << 20);
        assertThat(FileSpace.reserve(file, 0, 1 << 20)).isEqualTo(FileSpace.Outcome.DONE);
        assertThat(FileSpace.allocatedBytes(file)).as("once").isEqualTo(allocated);
        assertThat(FileSpace.punch(file, 4096, 4096)).isEqualTo(FileSpace.Outcome.DONE);
        assertThat(FileSpace.allocatedBytes(file)).isEqualTo(allocated - 4096);
        bytes[5000] = 0;
        assertThat(Files.readAllBytes(file)).isEqualTo(bytes);
    }

    @Test
    void moreThanThereIsGetsNoSpace() throws Exception {
        Path memory = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(memory));
        Path file = Files.createTempFile(memory, "cairn", "space");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            long more = Files.getFileStore(file).getTotalSpace() * 2;
            channel.write(ByteBuffer.allocate(1), more - 1);
            assertThat(FileSpace.reserve(file, 0, more)).isEqualTo(FileSpace.Outcome.NO_SPACE);
            assertThat(Files.size(file)).isEqualTo(more);
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void aFileSystemThatCannotIsTold() throws Exception {
        Path proc = Path.of("/proc/self/comm");
        assumeTrue(Files.isWritable(proc));
        assertThat(FileSpace.reserve(proc, 0, 4096)).isEqualTo(FileSpace.Outcome.UNSUPPORTED);
    }

    @Test
    void otherErrorsNameTheFile() {
        Path none = directory.resolve("none");
        assertThatThrownBy(() -> FileSpace.reserve(none, 0, 4096))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(
                        none + " cannot be opened to change what space it has: errno 2");
    }
}
