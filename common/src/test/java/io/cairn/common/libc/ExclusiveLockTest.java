package io.cairn.common.libc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExclusiveLockTest {
    @TempDir Path directory;

    @Test
    void aFileIsLockedOnceWhateverItIsCalled() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        Path link = Files.createSymbolicLink(directory.resolve("link"), file);
        ExclusiveLock lock = Objects.requireNonNull(ExclusiveLock.tryLock(file));
        assertThat(ExclusiveLock.tryLock(link)).isNull();
        Files.readString(file); // opens and closes it
        assertThat(ExclusiveLock.tryLock(directory.resolve("./file"))).isNull();
        lock.close();
        lock.close();
        try (ExclusiveLock again = ExclusiveLock.tryLock(link)) {
            assertThat(again).isNotNull();
        }
    }

    @Test
    void aDirectoryIsLockedAsAFileIs() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
        try (ExclusiveLock lock = ExclusiveLock.tryLock(directory)) {
            assertThat(lock).isNotNull();
            assertThat(ExclusiveLock.tryLock(link)).isNull();
        }
    }

    @Test
    void anotherProcessDoesNotGetIt() throws Exception {
        Path file = Files.createFile(directory.resolve("file"));
        try (ExclusiveLock lock = ExclusiveLock.tryLock(file)) {
            assertThat(lock).isNotNull();
            assertThat(flock(file)).isOne();
        }
        assertThat(flock(file)).isZero();
    }

    @Test
    void whatIsNotThereIsNamed() {
        Path missing = directory.resolve("missing");
        assertThatThrownBy(() -> ExclusiveLock.tryLock(missing))
                .isInstanceOf(IOException.class)
                .hasMessage(missing + " cannot be opened to be locked: errno 2");
    }

    /** Exit status of flock(1), which does not wait. */
    private static int flock(Path file) throws Exception {
        return new ProcessBuilder("flock", "--nonblock", file.toString(), "true").start().waitFor();
    }
}
