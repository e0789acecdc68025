package io.cairn.fuse.posix;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.client.api.CairnClient;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * What is special about a mount through libfuse 2: open files do not go by their path, and nothing
 * is taken from a cache that belongs to another name.
 */
class JnrMountTest {
    private static final int ENOENT = -2;
    private static final int EINVAL = -22;
    private static final int RENAME_NOREPLACE = 1;
    private static final int RENAME_EXCHANGE = 2;
    private static final int UTIME_NOW = (1 << 30) - 1;
    private static final int UTIME_OMIT = (1 << 30) - 2;
    private static final int O_DIRECTORY = 0200000;

    @RegisterExtension final MountedMemory memory = new MountedMemory("binding=jnr");

    private int open(String name) {
        return Posix.open(memory.path(name), Posix.O_RDWR | Posix.O_CREAT, 0644);
    }

    private void write(int fd, String text) {
        assertThat(Posix.pwrite(fd, text.getBytes(UTF_8), 0)).isEqualTo(text.length());
    }

    private static String read(int fd) {
        return new String(Posix.pread(fd, 4096, 0).bytes(), UTF_8);
    }

    @Test
    void anUnlinkedFileStaysUsableAndNothingIsHidden() {
        assertThat(Posix.call("mkdir", memory.path("d"), 0755)).isZero();
        int fd = open("d/f");
        write(fd, "before");
        assertThat(Posix.call("unlink", memory.path("d/f"))).isZero();
        assertThat(Posix.list(memory.path("d"))).isEmpty();
        assertThat(Posix.call("rmdir", memory.path("d"))).isZero();
        write(fd, "after it");
        assertThat(read(fd)).isEqualTo("after it");
        assertThat(Posix.call("ftruncate", fd, 5L)).isZero();
        assertThat(Posix.call("fsync", fd)).isZero();
        assertThat(read(fd)).isEqualTo("after");
        assertThat(Posix.close(fd)).isZero();
    }

    /** The limit that docs/mount.md names: an error, never another file's attributes. */
    @Test
    void anUnlinkedFileHasNoAttributesOnceItWasChanged() {
        int fd = open("a");
        assertThat(Posix.call("unlink", memory.path("a"))).isZero();
        write(fd, "text");
        Posix.close(open("a"));
        assertThat(Posix.fstat(fd).error()).isEqualTo(ENOENT);
        Posix.close(fd);
    }

    @Test
    void aFileThatWasReplacedIsStillTheOneThatWasOpened() {
        int old = open("a");
        write(old, "the old one");
        int replacing = open("b");
        write(replacing, "new");
        assertThat(Posix.call("rename", memory.path("b"), memory.path("a"))).isZero();
        int again = open("a");
        assertThat(read(old)).isEqualTo("the old one");
        assertThat(read(again)).isEqualTo("new");
        List.of(old, replacing, again).forEach(Posix::close);
    }

    /** The kernel has one node for the name, which now stands for two files. */
    @Test
    void aFileThatAnotherClientReplacedIsStillTheOneThatWasOpened() {
        int old = open("a");
        write(old, "the old one, which is longer");
        assertThat(read(old)).isEqualTo("the old one, which is longer");
        memory.client().unlink(CairnClient.ROOT_INODE, "a".getBytes(UTF_8)).join();
        memory.client().createElsewhere("a".getBytes(UTF_8), 0644);
        int again = open("a");
        write(again, "new");
        assertThat(read(old)).isEqualTo("the old one, which is longer");
        assertThat(read(again)).isEqualTo("new");
        Posix.close(old);
        Posix.close(again);
    }

    @Test
    void whatIsWrittenThroughOneNameIsReadThroughAnother() {
        int one = open("one");
        write(one, "first");
        assertThat(Posix.call("link", memory.path("one"), memory.path("two"))).isZero();
        int two = Posix.open(memory.path("two"), Posix.O_RDWR, 0);
        assertThat(read(two)).isEqualTo("first");
        write(one, "longer than it was");
        assertThat(read(two)).isEqualTo("longer than it was");
        write(two, "LONGER");
        assertThat(read(one)).isEqualTo("LONGER than it was");
        assertThat(Posix.lstat(memory.path("one")).inode())
                .isEqualTo(Posix.lstat(memory.path("two")).inode());
        assertThat(Posix.lstat(memory.path("one")).nlink()).isEqualTo(2);
        Posix.close(one);
        Posix.close(two);
    }

    @Test
    void whatAnotherClientOverwritesIsReadAtOnce() {
        int fd = open("a");
        write(fd, "ours");
        assertThat(read(fd)).isEqualTo("ours");
        memory.client().overwriteElsewhere("a".getBytes(UTF_8), "theirs".getBytes(UTF_8));
        assertThat(read(fd)).isEqualTo("theirs");
        Posix.close(fd);
    }

    @Test
    void aListingOfManyIsWholeAndCanBeReadAgainFromAnywhere() {
        Set<String> names = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            names.add("n" + i);
            memory.client().createElsewhere(("n" + i).getBytes(UTF_8), 0644);
        }
        List<byte[]> listed = Posix.list(memory.path(""));
        assertThat(listed).hasSize(10_000);
        assertThat(listed.stream().map(name -> new String(name, UTF_8))).containsAll(names);

        int fd = Posix.open(memory.path(""), O_DIRECTORY, 0);
        byte[] first = new byte[2048];
        assertThat(entries(fd, first)).isPositive();
        long next = lastOffset(first, entries(fd, first));
        byte[] second = new byte[2048];
        assertThat(Posix.callLong("lseek", fd, next, 0)).isEqualTo(next);
        int length = entries(fd, second);
        while (entries(fd, new byte[64 << 10]) > 0) {
            // To the end, where libfuse must not take what it has for all there is.
        }
        assertThat(Posix.callLong("lseek", fd, next, 0)).isEqualTo(next);
        byte[] again = new byte[2048];
        assertThat(entries(fd, again)).isEqualTo(length);
        assertThat(again).isEqualTo(second);
        Posix.close(fd);
    }

    private static int entries(int fd, byte[] into) {
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(into.length, 8);
            int length = Posix.call("getdents64", fd, buffer, into.length);
            if (length > 0) {
                MemorySegment.copy(buffer, JAVA_BYTE, 0, into, 0, length);
            }
            return length;
        }
    }

    /** d_off of the last of struct linux_dirent64: 8 bytes after the inode, before the length. */
    private static long lastOffset(byte[] entries, int length) {
        ByteBuffer in = ByteBuffer.wrap(entries).order(ByteOrder.LITTLE_ENDIAN);
        long offset = 0;
        for (int at = 0; at < length; at += in.getShort(at + 16)) {
            offset = in.getLong(at + 8);
        }
        return offset;
    }

    @Test
    void appendsGoWhereTheFileEndsNow() {
        int fd =
                Posix.open(memory.path("log"), Posix.O_RDWR | Posix.O_CREAT | Posix.O_APPEND, 0644);
        assertThat(Posix.write(fd, "one".getBytes(UTF_8))).isEqualTo(3);
        memory.client().appendElsewhere("log".getBytes(UTF_8), "TWO".getBytes(UTF_8));
        assertThat(Posix.write(fd, "three".getBytes(UTF_8))).isEqualTo(5);
        assertThat(read(fd)).isEqualTo("oneTWOthree");
        Posix.close(fd);
    }

    @Test
    void timesMayBeLeftAsTheyAreOrSetToNow() {
        Posix.close(open("a"));
        assertThat(Posix.utimens(memory.path("a"), 1000, 7, 2000, 9)).isZero();
        assertThat(Posix.utimens(memory.path("a"), 3000, 8, 0, UTIME_OMIT)).isZero();
        Posix.Stat stat = Posix.lstat(memory.path("a"));
        assertThat(stat.atimeSeconds()).isEqualTo(3000);
        assertThat(stat.atimeNanos()).isEqualTo(8);
        assertThat(stat.mtimeSeconds()).isEqualTo(2000);
        assertThat(stat.mtimeNanos()).isEqualTo(9);
        assertThat(Posix.utimens(memory.path("a"), 0, UTIME_OMIT, 0, UTIME_NOW)).isZero();
        stat = Posix.lstat(memory.path("a"));
        assertThat(stat.atimeSeconds()).isEqualTo(3000);
        assertThat(stat.mtimeSeconds()).isGreaterThan(1_700_000_000L);
    }

    @Test
    void flagsOfRenameAreRefused() {
        Posix.close(open("a"));
        Posix.close(open("b"));
        assertThat(rename("a", "free", RENAME_NOREPLACE)).isEqualTo(EINVAL);
        assertThat(rename("a", "b", RENAME_EXCHANGE)).isEqualTo(EINVAL);
    }

    private int rename(String from, String to, int flags) {
        return Posix.call(
                "renameat2",
                Posix.AT_FDCWD,
                memory.path(from),
                Posix.AT_FDCWD,
                memory.path(to),
                flags);
    }

    /** Two names of a file would have different pages. */
    @Test
    void aSharedMappingIsRefusedAndAPrivateOneIsNot() throws IOException {
        int fd = open("a");
        write(fd, "text");
        Posix.close(fd);
        try (FileChannel file =
                FileChannel.open(file("a"), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            assertThatThrownBy(() -> file.map(MapMode.READ_WRITE, 0, 4))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("No such device");
            byte[] text = new byte[4];
            file.map(MapMode.PRIVATE, 0, 4).get(text);
            assertThat(text).isEqualTo("text".getBytes(UTF_8));
        }
    }

    private Path file(String name) {
        return memory.mount().mountPoint().resolve(name);
    }

    @Test
    void largeReadsAndWritesComeInPieces() {
        byte[] data = new byte[3 * 128 * 1024 + 5];
        new Random(1).nextBytes(data);
        int fd = open("big");
        assertThat(Posix.pwrite(fd, data, 4097)).isEqualTo(data.length);
        byte[] back = Posix.pread(fd, data.length + 100, 4097).bytes();
        assertThat(Arrays.equals(back, data)).isTrue();
        assertThat(Posix.pread(fd, 4097, 0).bytes()).containsOnly(0);
        Posix.close(fd);
    }

    /** What is closed is given back, also where it was never written. */
    @Test
    void handlesAreGivenBack() {
        int fd = open("a");
        int directory = Posix.open(memory.path(""), O_DIRECTORY, 0);
        assertThat(memory.handles()).isEqualTo(2);
        Posix.close(fd);
        Posix.close(directory);
        Awaitility.await().until(() -> memory.handles() == 0);
        Awaitility.await().until(() -> memory.client().openCount() == 0);
    }
}
