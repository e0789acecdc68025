package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every mistake gets one clear line and its exit code. */
class ErrorsTest {
    private static final int USAGE = 2;
    private static final int CONFIGURATION = 3;
    private static final int UNREACHABLE = 4;
    private static final int BUSY = 5;

    @TempDir Path temporary;

    @Test
    void usage() {
        assertThat(Cluster.cairn("nonsense").exitCode()).isEqualTo(USAGE);
        assertThat(Cluster.cairn("up").exitCode()).isEqualTo(USAGE);
        assertThat(Cluster.cairn("version").ok().out()).startsWith("cairn ");
        assertThat(Cluster.cairn("--help").ok().out()).contains("up").contains("status");
    }

    @Test
    void badConfigurationNamesFileLineAndKey() throws IOException {
        Path file = temporary.resolve("mds.toml");
        Files.writeString(file, "# nothing right\nnonsense = 1\n");
        for (String role : new String[] {"mds", "dataserver"}) {
            Shell.Result result = Cluster.cairn(role, "--config", file.toString());
            result.saysOneLine(CONFIGURATION, file + ":2: nonsense");
        }
        Shell.Result missing =
                Cluster.cairn("mds", "--config", temporary.resolve("none").toString());
        missing.saysOneLine(CONFIGURATION, "none");
    }

    @Test
    void unreachableMds() throws IOException {
        Path mnt = Files.createDirectory(temporary.resolve("mnt"));
        Shell.Result mount = Cluster.cairn("mount", "127.0.0.1:1", mnt.toString());
        mount.saysOneLine(UNREACHABLE, "127.0.0.1:1");

        Path config = temporary.resolve("mount.toml");
        Files.writeString(config, "[client]\nmds = [\"127.0.0.1:3\"]\nconnect_timeout = \"1s\"\n");
        Shell.Result both =
                Cluster.cairn(
                        "mount", "127.0.0.1:1", mnt.toString(), "--config", config.toString());
        both.saysOneLine(UNREACHABLE, "127.0.0.1:1"); // the command line's, not the file's
        Shell.Result status = Cluster.cairn("status", "--mds", "127.0.0.1:1");
        status.saysOneLine(UNREACHABLE, "127.0.0.1:1");
    }

    @Test
    void unwritableDirectory() {
        Shell.Result result = Cluster.cairn("up", temporary.toString(), "--dir", "/proc/cairn");
        assertThat(result.exitCode()).isNotZero();
        assertThat(result.err()).contains("/proc/cairn");
        assertThat(result.err().lines()).hasSize(1);
    }

    @Test
    void mountPointThatIsNotEmptyOrNotThere() throws IOException {
        Path state = temporary.resolve("state");
        Path full = Files.createDirectory(temporary.resolve("full"));
        Files.createFile(full.resolve("file"));
        Cluster.cairn("up", full.toString(), "--dir", state.toString())
                .saysOneLine(BUSY, "not empty");
        Shell.Result missing =
                Cluster.cairn("up", temporary + "/missing/mnt", "--dir", state.toString());
        missing.saysOneLine(USAGE, "missing/mnt does not exist", "mkdir -p");
        assertThat(state).doesNotExist();
    }

    @Test
    void secondUpBusyPortAndDeadMount() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up();
            cluster.tryUp().saysOneLine(BUSY, "already running");

            String port = cluster.status().path("mds").get(0).path("address").asString();
            Files.writeString(
                    cluster.mnt().resolve("f"),
                    "kept",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.SYNC); // or it would be lost with the mount
            cluster.kill9(); // leaves a dead mount, which the next up cleans
            String number = port.substring(port.indexOf(':') + 1);
            try (var _ = new ServerSocket(Integer.parseInt(number))) {
                cluster.tryUp().saysOneLine(BUSY, number);
            }
            // What up cannot know before: the port of a part that starts meanwhile.
            Path config = cluster.state().resolve("mds-1").resolve("config.toml");
            for (String key : new String[] {"raft_address", "metrics_address"}) {
                String busy = port(config, key);
                try (var _ = new ServerSocket(Integer.parseInt(busy))) {
                    Cluster.cairn("mds", "--config", config.toString()).saysOneLine(BUSY, busy);
                }
            }
            cluster.up();
            assertThat(Files.readString(cluster.mnt().resolve("f"))).isEqualTo("kept");
        }
    }

    /** The port a part's configuration gives for this key. */
    private static String port(Path config, String key) throws IOException {
        return Files.readAllLines(config).stream()
                .filter(line -> line.startsWith(key + " = "))
                .map(line -> line.replaceFirst(".*:(\\d+)\"$", "$1"))
                .findFirst()
                .orElseThrow();
    }
}
