package io.cairn.fuse.mount;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Credentials;
import io.cairn.fuse.MountBench;
import io.cairn.fuse.memory.MemoryClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What may stand in the way of a mount, and what a kill leaves behind. */
class MountErrorsTest {
    @TempDir Path temporary;

    private final MemoryClient client = new MemoryClient();

    private FuseMount mount(Path where, String options) throws MountException {
        return FuseMount.mount(
                client, where, MountOptions.DEFAULT.with(options), Meters.unpublished());
    }

    @Test
    void missingMountPoint() {
        assertThatThrownBy(() -> mount(temporary.resolve("no"), ""))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("does not exist");
    }

    @Test
    void fileAsMountPoint() throws IOException {
        Path file = Files.createFile(temporary.resolve("file"));
        assertThatThrownBy(() -> mount(file, ""))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("is not a directory");
    }

    @Test
    void directoryThatIsNotEmpty() throws Exception {
        Files.createFile(temporary.resolve("file"));
        assertThatThrownBy(() -> mount(temporary, ""))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("not empty")
                .hasMessageContaining("nonempty");
        try (FuseMount over = mount(temporary, "nonempty")) {
            assertThat(Files.exists(over.mountPoint().resolve("file"))).isFalse();
        }
        assertThat(Files.exists(temporary.resolve("file"))).isTrue();
    }

    @Test
    void mountedAlready() throws Exception {
        try (FuseMount first = mount(temporary, "fsname=m1:/x")) {
            assertThatThrownBy(() -> mount(first.mountPoint(), ""))
                    .isInstanceOf(MountException.class)
                    .hasMessageContaining("already mounted: m1:/x");
        }
        assertThat(MountTable.at(temporary.toRealPath())).isNull();
    }

    @Test
    void readOnly() throws Exception {
        try (FuseMount mounted = mount(temporary, "ro")) {
            assertThatThrownBy(() -> Files.createFile(mounted.mountPoint().resolve("a")))
                    .hasMessageContaining("Read-only");
        }
    }

    @Test
    void remountedReadOnlyAndBack() throws Exception {
        try (FuseMount mounted = mount(temporary, "noexec,noatime")) {
            Path point = mounted.mountPoint();
            Path file = Files.createFile(point.resolve("a"));
            try (OutputStream writer = Files.newOutputStream(file)) {
                assertThatThrownBy(() -> FuseMount.remount(point, "remount,ro"))
                        .isInstanceOf(MountException.class)
                        .hasMessageContaining("open for writing");
                writer.write('x');
            }
            FuseMount.remount(point, "remount,ro,attr_timeout=3,_netdev");
            assertThatThrownBy(() -> Files.createFile(point.resolve("b")))
                    .hasMessageContaining("Read-only");
            assertThat(file).hasContent("x");
            assertThat(options(point)).contains("ro", "noexec", "noatime", "nosuid", "nodev");
            FuseMount.remount(point, "rw,exec,remount,relatime,sync");
            Files.writeString(file, "y");
            assertThat(options(point))
                    .contains("relatime", "sync", "nosuid")
                    .doesNotContain("ro", "noexec", "noatime");
            assertThatThrownBy(() -> FuseMount.remount(point, "remount,colour=red"))
                    .hasMessageContaining("colour");
        }
        assertThatThrownBy(() -> FuseMount.remount(temporary, "remount,ro"))
                .hasMessageContaining("nothing is mounted");
    }

    private static List<String> options(Path point) throws MountException {
        MountTable.Entry entry = MountTable.at(point);
        return entry == null ? List.of() : List.of(entry.options().split(",", -1));
    }

    /** On any file: what is written is durable, and its size known, when write returns. */
    @Test
    void writesOfASyncMountAreSynced() throws Exception {
        try (FuseMount mounted = mount(temporary, "sync")) {
            Files.writeString(mounted.mountPoint().resolve("a"), "x");
            assertThat(client.syncs()).isPositive();
        }
        int before = client.syncs();
        try (FuseMount mounted = mount(temporary, "async")) {
            Files.writeString(mounted.mountPoint().resolve("b"), "x");
            assertThat(client.syncs()).isEqualTo(before);
        }
    }

    @Test
    void subdirectoryIsTheRoot() throws Exception {
        Credentials root = Credentials.getDefaultInstance();
        long a = client.mkdir(1, "a".getBytes(UTF_8), 040755, root).join().getInode();
        long b = client.mkdir(a, "b".getBytes(UTF_8), 040755, root).join().getInode();
        client.mkdir(b, "c".getBytes(UTF_8), 040755, root).join();
        try (FuseMount mounted = mount(temporary, "subdir=/a/b")) {
            Path point = mounted.mountPoint();
            assertThat(Files.isDirectory(point.resolve("c"))).isTrue();
            Files.createDirectory(point.resolve("d"));
            Files.move(point.resolve("d"), point.resolve("c/d"));
            assertThat(Files.isDirectory(point.resolve("c/../c/d/../../c"))).isTrue();
            assertThat(Files.getAttribute(point, "unix:ino")).isEqualTo(b);
        }
        assertThatThrownBy(() -> mount(temporary, "subdir=/a/x"))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("/a/x");
    }

    /** As by {@code client.path}; a subdirectory is one of it. */
    @Test
    void theClientsDirectoryIsTheRoot() throws Exception {
        Credentials root = Credentials.getDefaultInstance();
        long a = client.mkdir(1, "a".getBytes(UTF_8), 040755, root).join().getInode();
        long b = client.mkdir(a, "b".getBytes(UTF_8), 040755, root).join().getInode();
        client.root(a);
        try (FuseMount mounted = mount(temporary, "")) {
            Path point = mounted.mountPoint();
            assertThat(point.toFile().list()).containsExactly("b");
            assertThat(Files.getAttribute(point, "unix:ino")).isEqualTo(a);
            assertThat(Files.getAttribute(point.resolve("b/.."), "unix:ino")).isEqualTo(a);
        }
        try (FuseMount mounted = mount(temporary, "subdir=/b")) {
            assertThat(Files.getAttribute(mounted.mountPoint(), "unix:ino")).isEqualTo(b);
        }
    }

    @Test
    void listingWithAttributes() throws Exception {
        try (FuseMount mounted = mount(temporary, "entry_timeout=5")) {
            for (int i = 0; i < 500; i++) {
                Files.writeString(mounted.mountPoint().resolve("f" + i), "x".repeat(i));
            }
            Process ls = new ProcessBuilder("ls", "-l", mounted.mountPoint().toString()).start();
            String listed = new String(ls.getInputStream().readAllBytes(), UTF_8);
            assertThat(listed.lines()).hasSize(501);
            assertThat(listed).contains(" 499 ").contains(" f499");
        }
    }

    @Test
    void unmountedFromOutsideEndsTheMount() throws Exception {
        FuseMount mounted = mount(temporary, "");
        FuseMount.unmount(temporary);
        mounted.awaitUnmounted();
        assertThatThrownBy(() -> FuseMount.unmount(temporary))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("nothing is mounted");
        mounted.close();
    }

    @Test
    void closeWhileAFileIsOpen() throws Exception {
        FuseMount mounted = mount(temporary, "");
        Path file = Files.writeString(mounted.mountPoint().resolve("a"), "text");
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            mounted.close();
            assertThat(MountTable.at(temporary.toRealPath())).isNull();
            assertThat(reader.readLine()).as("served until it is closed").isEqualTo("text");
        }
        mounted.awaitUnmounted();
    }

    @Test
    void deadMountIsCleanedUp() throws Exception {
        Process server =
                new ProcessBuilder(
                                List.of(
                                        ProcessHandle.current().info().command().orElseThrow(),
                                        "--enable-native-access=ALL-UNNAMED",
                                        "--sun-misc-unsafe-memory-access=allow",
                                        "-cp",
                                        System.getProperty("java.class.path"),
                                        MountBench.class.getName(),
                                        temporary.toString()))
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        try (BufferedReader out = server.inputReader()) {
            String line = out.readLine();
            while (line != null && !line.startsWith("mounted")) {
                line = out.readLine();
            }
            assertThat(line).isNotNull();
        }
        server.destroyForcibly();
        assertThat(server.waitFor(20, TimeUnit.SECONDS)).isTrue();
        Path point = Path.of(MountTable.at(temporary) == null ? "" : temporary.toString());
        assertThat(MountPoint.isDead(point)).isTrue();
        try (FuseMount again = mount(temporary, "")) {
            assertThat(Files.isDirectory(again.mountPoint())).isTrue();
        }
        assertThat(MountTable.at(temporary)).isNull();
    }
}
