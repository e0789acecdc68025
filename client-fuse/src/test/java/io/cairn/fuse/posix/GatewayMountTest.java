package io.cairn.fuse.posix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A mount as NFS gateways use it. */
class GatewayMountTest {
    private static final int KEEP_SIZE = 1;
    private static final int PUNCH_HOLE = 2;

    @RegisterExtension final MountedMemory memory = new MountedMemory(options());

    String options() {
        return "wsync,direct_io";
    }

    private int open(int flags) {
        return Posix.open(memory.path("a"), flags | Posix.O_CREAT, 0644);
    }

    private static String read(int fd) {
        return new String(Posix.pread(fd, 4096, 0).bytes(), UTF_8);
    }

    /** Times too: an overwrite without a new mtime would stay unseen by those who cache. */
    @ParameterizedTest
    @ValueSource(ints = {0, Posix.O_APPEND, Posix.O_DSYNC})
    void everyWriteIsPublishedBeforeItIsAnswered(int flags) {
        int fd = open(Posix.O_RDWR | flags);
        for (int i = 1; i <= 3; i++) {
            assertThat(Posix.write(fd, new byte[4096])).isEqualTo(4096);
            assertThat(memory.client().flushes()).isEqualTo(i);
        }
        Posix.close(fd);
    }

    @Test
    void noWriteIsAnsweredBeforeItIsPublished() throws InterruptedException {
        int fd = open(Posix.O_RDWR);
        memory.client().holdBack("flush");
        Thread writer = Thread.ofPlatform().start(() -> Posix.write(fd, new byte[1]));
        Awaitility.await().until(() -> memory.client().heldBack("flush") == 1);
        assertThat(writer.isAlive()).isTrue();
        memory.client().letGo("flush");
        writer.join();
        Posix.close(fd);
    }

    @Test
    void holesArePublishedToo() {
        int fd = open(Posix.O_RDWR);
        assertThat(Posix.write(fd, "abcdef".getBytes(UTF_8))).isEqualTo(6);
        int before = memory.client().flushes();
        assertThat(Posix.call("fallocate", fd, PUNCH_HOLE | KEEP_SIZE, 1L, 2L)).isZero();
        assertThat(memory.client().flushes()).isEqualTo(before + 1);
        assertThat(read(fd)).isEqualTo("a\0\0def");
        Posix.close(fd);
    }

    @Test
    void aFileThatStaysOpenShowsWhatOthersWriteInPlace() {
        int fd = open(Posix.O_RDWR);
        assertThat(Posix.write(fd, "before".getBytes(UTF_8))).isEqualTo(6);
        assertThat(read(fd)).isEqualTo("before");
        memory.client().overwriteElsewhere("a".getBytes(UTF_8), "after!".getBytes(UTF_8));
        assertThat(read(fd)).isEqualTo("after!");
        Posix.close(fd);
    }
}
