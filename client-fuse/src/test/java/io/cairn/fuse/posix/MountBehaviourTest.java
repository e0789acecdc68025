package io.cairn.fuse.posix;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.fuse.posix.Posix.Stat;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the comparison with a local directory does not show. */
class MountBehaviourTest {
    private static final int ENOENT = -2;
    private static final int ENOSPC = -28;
    private static final int ESTALE = -116;
    private static final int O_DIRECTORY = 0200000;
    private static final int EOPNOTSUPP = -95;
    private static final int ENOTTY = -25;

    @RegisterExtension final MountedMemory memory = new MountedMemory();

    private void write(String name, String text) {
        int fd = Posix.open(memory.path(name), Posix.O_WRONLY | Posix.O_CREAT, 0644);
        assertThat(Posix.pwrite(fd, text.getBytes(UTF_8), 0)).isEqualTo(text.length());
        assertThat(Posix.close(fd)).isZero();
    }

    private String read(int fd) {
        return new String(Posix.pread(fd, 4096, 0).bytes(), UTF_8);
    }

    @Test
    void everyByteButSlashAndNulMayBeInAName() {
        for (int b = 1; b < 256; b++) {
            if (b != '/' && b != '.') {
                byte[] path = memory.path(new byte[] {(byte) b});
                assertThat(Posix.close(Posix.open(path, Posix.O_CREAT, 0644))).isZero();
                assertThat(Posix.lstat(path).error()).isZero();
            }
        }
        Set<Integer> seen = new HashSet<>();
        Posix.list(memory.path("")).forEach(name -> seen.add(name[0] & 0xff));
        assertThat(seen).hasSize(253);
    }

    /**
     * By a handle, as NFS servers open files. The last close returns before RELEASE is answered.
     */
    @Test
    void aFileWithoutANameIsStaleOnceItIsClosed() {
        int root = Posix.open(memory.path(""), Posix.O_RDONLY, 0);
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR | Posix.O_CREAT, 0644);
        byte[] handle = Posix.handle(memory.path("a"));
        long inode = Posix.fstat(fd).inode();
        OpenFile elsewhere = memory.client().open(inode).join();
        assertThat(Posix.call("unlink", memory.path("a"))).isZero();
        int again = Posix.open(root, handle, Posix.O_RDWR);
        assertThat(again).as("while it is open").isPositive();
        assertThat(Posix.close(again)).isZero();
        Awaitility.await().until(() -> memory.client().openCount() == 2);

        memory.client().holdBack("release");
        assertThat(Posix.close(fd)).isZero();
        Awaitility.await().until(() -> memory.client().heldBack("release") == 1);
        assertThat(Posix.open(root, handle, Posix.O_RDWR)).isEqualTo(ESTALE);
        memory.client().letGo("release");
        Awaitility.await().until(() -> memory.client().openCount() == 1);
        assertThat(Posix.open(root, handle, Posix.O_RDWR)).as("looked up").isEqualTo(ESTALE);
        elsewhere.release().join();
        Awaitility.await().until(() -> memory.client().inodeCount() == 1);
        assertThat(Posix.open(root, handle, Posix.O_RDWR)).isEqualTo(ESTALE);
        assertThat(Posix.close(root)).isZero();
    }

    @Test
    void unlinkedFileStaysUsableUntilClosed() {
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR | Posix.O_CREAT, 0600);
        assertThat(Posix.call("unlink", memory.path("a"))).isZero();
        assertThat(Posix.pwrite(fd, "still here".getBytes(UTF_8), 0)).isEqualTo(10);
        assertThat(read(fd)).isEqualTo("still here");
        Stat stat = Posix.fstat(fd);
        assertThat(stat.nlink()).isZero();
        assertThat(stat.size()).isEqualTo(10);
        assertThat(Posix.list(memory.path(""))).isEmpty();
        Posix.close(fd);
        // The kernel does not wait for the answer to RELEASE.
        Awaitility.await().until(() -> memory.client().inodeCount() == 1);
    }

    @Test
    void hardLinksAreOneInode() {
        write("a", "one");
        assertThat(Posix.call("link", memory.path("a"), memory.path("b"))).isZero();
        int a = Posix.open(memory.path("a"), Posix.O_RDWR, 0);
        int b = Posix.open(memory.path("b"), Posix.O_RDONLY, 0);
        assertThat(read(b)).isEqualTo("one");
        Posix.pwrite(a, "two".getBytes(UTF_8), 0);
        assertThat(read(b)).isEqualTo("two");
        assertThat(Posix.lstat(memory.path("a")).inode())
                .isEqualTo(Posix.lstat(memory.path("b")).inode());
        assertThat(Posix.lstat(memory.path("a")).nlink()).isEqualTo(2);
        Posix.close(a);
        Posix.close(b);
    }

    /** As editors and package managers do it: there is a file of that name at any time. */
    @ParameterizedTest
    @CsvSource({
        "open,cat f,new",
        "setattr,'chmod 640 f && echo done',done",
        "getxattr,'getfattr --only-values -n user.a f',of the new",
        "setxattr,'setfattr -n user.a -v x f && echo done',done",
        "readlink,readlink l,f",
    })
    void whatAnotherClientPutsInPlaceOfAFileIsFound(
            String operation, String command, String expected) throws Exception {
        write("f", "before");
        write("g", "new");
        setxattr("f", "of the old");
        setxattr("g", "of the new");
        Files.createSymbolicLink(memory.mount().mountPoint().resolve("l"), Path.of("old"));
        Files.createSymbolicLink(memory.mount().mountPoint().resolve("k"), Path.of("f"));
        memory.client().holdBack(operation);
        Process process =
                new ProcessBuilder("sh", "-c", command)
                        .directory(memory.mount().mountPoint().toFile())
                        .redirectErrorStream(true)
                        .start();
        Awaitility.await().until(() -> memory.client().heldBack(operation) > 0);
        replaceAsAnother("g", "f");
        replaceAsAnother("k", "l");
        memory.client().letGo(operation);
        String said = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said).isEqualTo(expected);
    }

    private void replaceAsAnother(String from, String to) {
        memory.client().rename(1, from.getBytes(UTF_8), 1, to.getBytes(UTF_8), 0).join();
    }

    private void setxattr(String name, String value) throws IOException {
        Path file = memory.mount().mountPoint().resolve(name);
        Files.setAttribute(file, "user:a", value.getBytes(UTF_8));
    }

    @Test
    void whatAnotherClientClosedIsReadAfterTheNextOpen() {
        write("a", "old");
        int first = Posix.open(memory.path("a"), Posix.O_RDONLY, 0);
        assertThat(read(first)).isEqualTo("old");
        Posix.close(first);
        for (String text : List.of("new", "and longer", "x")) {
            memory.client().overwriteElsewhere("a".getBytes(UTF_8), text.getBytes(UTF_8));
            int again = Posix.open(memory.path("a"), Posix.O_RDONLY, 0);
            assertThat(Posix.fstat(again).size()).isEqualTo(text.length());
            assertThat(read(again)).isEqualTo(text);
            Posix.close(again);
        }
    }

    @Test
    void pagesAreKeptWhereNothingChanged() {
        write("a", "cached");
        for (int i = 0; i < 3; i++) {
            int fd = Posix.open(memory.path("a"), Posix.O_RDONLY, 0);
            assertThat(read(fd)).isEqualTo("cached");
            Posix.close(fd);
        }
        // Whoever would read again would now be held back for ever.
        memory.client().holdBack("read");
        int fd = Posix.open(memory.path("a"), Posix.O_RDONLY, 0);
        assertThat(read(fd)).isEqualTo("cached");
        assertThat(memory.client().heldBack("read")).isZero();
        memory.client().letGo("read");
        Posix.close(fd);
    }

    @Test
    void listingStaysRightWhileEntriesComeAndGo() {
        byte[] directory = memory.path("d");
        assertThat(Posix.call("mkdir", directory, 0755)).isZero();
        int files = 3000;
        for (int i = 0; i < files; i++) {
            Posix.close(Posix.open(memory.path("d/stays" + i), Posix.O_CREAT, 0644));
            Posix.close(Posix.open(memory.path("d/goes" + i), Posix.O_CREAT, 0644));
        }
        List<String> seen = new ArrayList<>();
        try (Posix.Directory stream = new Posix.Directory(directory)) {
            int n = 0;
            for (byte[] name = stream.next(); name.length > 0; name = stream.next()) {
                seen.add(new String(name, UTF_8));
                if (n < files) {
                    Posix.call("unlink", memory.path("d/goes" + n));
                    Posix.close(Posix.open(memory.path("d/comes" + n), Posix.O_CREAT, 0644));
                    n++;
                }
            }
        }
        assertThat(seen).doesNotHaveDuplicates().contains(".", "..");
        assertThat(seen.stream().filter(name -> name.startsWith("stays")).count()).isEqualTo(files);
    }

    @Test
    void mappedPagesReadAndWrite() {
        int size = 1 << 20;
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR | Posix.O_CREAT, 0644);
        assertThat(Posix.call("ftruncate", fd, (long) size)).isZero();
        long address = Posix.callLong("mmap", MemorySegment.NULL, (long) size, 3, 1, fd, 0L);
        assertThat(address).isPositive();
        // Only calls touch the mapping: a page fault in Java code could stop the collector.
        MemorySegment map = MemorySegment.ofAddress(address);
        assertThat(Posix.callLong("memset", map, (int) 'm', (long) size)).isEqualTo(address);
        assertThat(Posix.call("msync", map, (long) size, 4)).isZero();
        byte[] expected = new byte[size];
        Arrays.fill(expected, (byte) 'm');
        assertThat(Posix.pread(fd, size, 0).bytes()).isEqualTo(expected);
        assertThat(Posix.pwrite(fd, new byte[] {'p'}, 70_000)).isEqualTo(1);
        MemorySegment copy = java.lang.foreign.Arena.ofAuto().allocate(1);
        Posix.callLong("memcpy", copy, MemorySegment.ofAddress(address + 70_000), 1L);
        assertThat(copy.get(JAVA_BYTE, 0)).isEqualTo((byte) 'p');
        assertThat(Posix.call("munmap", map, (long) size)).isZero();
        Posix.close(fd);
    }

    @Test
    void directAndLargeIo() {
        byte[] data = new byte[3 << 20];
        ByteBuffer words = ByteBuffer.wrap(data);
        for (int i = 0; words.hasRemaining(); i++) {
            words.putInt(i * 0x9e3779b9);
        }
        int flags = Posix.O_RDWR | Posix.O_CREAT | Posix.O_DIRECT | Posix.O_DSYNC;
        int direct = Posix.open(memory.path("a"), flags, 0644);
        assertThat(Posix.pwrite(direct, data, 4096)).isEqualTo(data.length);
        assertThat(Posix.pread(direct, data.length, 4096).bytes()).isEqualTo(data);
        int cached = Posix.open(memory.path("a"), Posix.O_RDWR, 0);
        assertThat(Posix.pread(cached, data.length, 4096).bytes()).isEqualTo(data);
        assertThat(Posix.pwrite(cached, new byte[5000], 100_000)).isEqualTo(5000);
        assertThat(Posix.pread(direct, 5000, 100_000).bytes()).isEqualTo(new byte[5000]);
        assertThat(Posix.fstat(direct).size()).isEqualTo(4096 + data.length);
        Posix.close(direct);
        Posix.close(cached);
    }

    @Test
    void setUserIdIsClearedByAWriterWithoutPrivilege() throws Exception {
        write("a", "x");
        Posix.call("chmod", memory.path("a"), 06777);
        String path = memory.mount().mountPoint() + "/a";
        Process writer =
                new ProcessBuilder(
                                "setpriv",
                                "--reuid=65534",
                                "--regid=65534",
                                "--clear-groups",
                                "sh",
                                "-c",
                                "echo y >> " + path)
                        .inheritIO()
                        .start();
        assertThat(writer.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(writer.exitValue()).isZero();
        int fd = Posix.open(memory.path("a"), Posix.O_RDONLY, 0);
        assertThat(Posix.fstat(fd).mode() & 07777).isEqualTo(0777);
        Posix.close(fd);
    }

    @Test
    void permissionsHoldForOthers() throws Exception {
        write("secret", "x");
        Posix.call("chmod", memory.path("secret"), 0600);
        Process reader =
                new ProcessBuilder(
                                "setpriv",
                                "--reuid=65534",
                                "--regid=65534",
                                "--clear-groups",
                                "cat",
                                memory.mount().mountPoint() + "/secret")
                        .redirectErrorStream(true)
                        .start();
        assertThat(reader.waitFor(60, TimeUnit.SECONDS)).isTrue(); // its line fits into the pipe
        assertThat(reader.exitValue()).isNotZero();
        assertThat(new String(reader.getInputStream().readAllBytes(), UTF_8))
                .contains("Permission denied");
    }

    @Test
    void unsupportedCallsSaySo() {
        write("a", "x");
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR, 0);
        assertThat(Posix.setxattr(memory.path("a"), "system.posix_acl_access", new byte[4], 0))
                .isEqualTo(EOPNOTSUPP);
        assertThat(Posix.call("fallocate", fd, 1, 0L, 100L)).isEqualTo(EOPNOTSUPP);
        assertThat(Posix.call("fallocate", fd, 8, 0L, 4096L)).isEqualTo(EOPNOTSUPP);
        int anything = 0x12345678;
        assertThat(Posix.call("ioctl", fd, (long) anything, MemorySegment.NULL)).isEqualTo(ENOTTY);
        assertThat(Posix.callLong("lseek", fd, 0L, 3)).as("SEEK_DATA").isZero();
        assertThat(Posix.callLong("lseek", fd, 0L, 4)).as("SEEK_HOLE").isEqualTo(1);
        Posix.close(fd);
    }

    @Test
    void fallocateBeyondTheFreeSpaceIsRefusedAtOnce() {
        write("a", "x");
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR, 0);
        long free = memory.client().freeBytes();
        assertThat(Posix.call("fallocate", fd, 0, 0L, free + 2)).isEqualTo(ENOSPC);
        assertThat(Posix.call("fallocate", fd, 16, 0L, free + 2)).isEqualTo(ENOSPC);
        assertThat(Posix.fstat(fd).size()).isEqualTo(1);
        // Only what it adds needs space: neither what is there nor a hole before it.
        assertThat(Posix.call("fallocate", fd, 0, 0L, free + 1)).isZero();
        assertThat(Posix.fstat(fd).size()).isEqualTo(free + 1);
        assertThat(Posix.call("fallocate", fd, 0, 2 * free, 10L)).isZero();
        assertThat(Posix.fstat(fd).size()).isEqualTo(2 * free + 10);
        Posix.close(fd);
    }

    /** As on a local file system, whoever removed it. */
    @Test
    void removedDirectoryStaysUsableUntilClosed() {
        for (boolean elsewhere : List.of(false, true)) {
            for (boolean replaced : List.of(false, true)) {
                assertThat(Posix.call("mkdir", memory.path("d"), 0750)).isZero();
                assertThat(Posix.call("mkdir", memory.path("e"), 0700)).isZero();
                int fd = Posix.open(memory.path("d"), O_DIRECTORY, 0);
                int twice = Posix.open(memory.path("d"), O_DIRECTORY, 0);
                Stat before = Posix.fstat(fd);
                if (elsewhere) {
                    memory.client().removeElsewhere("d".getBytes(UTF_8));
                } else if (replaced) {
                    assertThat(Posix.call("rename", memory.path("e"), memory.path("d"))).isZero();
                } else {
                    assertThat(Posix.call("rmdir", memory.path("d"))).isZero();
                }
                Posix.call("fchmod", fd, 0711);
                Stat stat = Posix.fstat(fd);
                assertThat(stat.error()).isZero();
                assertThat(stat.inode()).isEqualTo(before.inode());
                assertThat(stat.isDirectory()).isTrue();
                assertThat(stat.nlink()).isZero();
                assertThat(stat.mode() & 07777).isEqualTo(0711);
                assertThat(names(fd)).isEmpty();
                int made = Posix.O_WRONLY | Posix.O_CREAT;
                byte[] name = "x".getBytes(UTF_8);
                assertThat(Posix.call("openat", fd, name, made, 0644)).isEqualTo(ENOENT);
                assertThat(Posix.call("openat", fd, name, Posix.O_RDONLY, 0)).isEqualTo(ENOENT);
                assertThat(Posix.call("mkdirat", fd, name, 0755)).isEqualTo(ENOENT);
                assertThat(Posix.call("fsync", fd)).isZero();
                assertThat(Posix.close(fd)).isZero();
                assertThat(Posix.fstat(twice).nlink()).isZero();
                assertThat(Posix.close(twice)).isZero();
                Posix.call("rmdir", memory.path("d"));
                Posix.call("rmdir", memory.path("e"));
            }
        }
        Awaitility.await().until(() -> memory.handles() == 0);
    }

    /** Of an open directory, but "." and "..". */
    private static List<String> names(int fd) {
        List<String> names = new ArrayList<>();
        MemorySegment buffer = java.lang.foreign.Arena.ofAuto().allocate(4096, 8);
        long n = Posix.callLong("getdents64", fd, buffer, 4096L);
        assertThat(n == ENOENT || n >= 0).as("getdents64: %d", n).isTrue();
        for (long at = 0;
                at < n;
                at += Short.toUnsignedInt(buffer.get(JAVA_SHORT_UNALIGNED, at + 16))) {
            String name = buffer.getString(at + 19);
            if (!name.equals(".") && !name.equals("..")) {
                names.add(name);
            }
        }
        return names;
    }

    @Test
    void xattrsOfTheLargestSize() {
        write("a", "x");
        byte[] value = new byte[65_536];
        Arrays.fill(value, (byte) 7);
        assertThat(Posix.setxattr(memory.path("a"), "user.big", value, 0)).isZero();
        assertThat(Posix.getxattr(memory.path("a"), "user.big", 0).result()).isEqualTo(65_536);
        assertThat(Posix.getxattr(memory.path("a"), "user.big", 65_536).bytes()).isEqualTo(value);
    }

    @Test
    void locksAreKeptByTheKernel() throws Exception {
        write("a", "x");
        String path = memory.mount().mountPoint() + "/a";
        Process locks =
                new ProcessBuilder("flock", path, "flock", "-n", path, "true").inheritIO().start();
        assertThat(locks.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(locks.exitValue()).isEqualTo(1);
    }

    @Test
    void timeOfBirthAndBlockSize() throws IOException {
        write("a", "x");
        Path path = memory.mount().mountPoint().resolve("a");
        assertThat(Files.getLastModifiedTime(path).toMillis()).isPositive();
        assertThat(Posix.lstat(memory.path("a")).blocks()).isEqualTo(1);
        assertThat(Posix.lstat(memory.path("gone")).error()).isEqualTo(ENOENT);
    }
}
