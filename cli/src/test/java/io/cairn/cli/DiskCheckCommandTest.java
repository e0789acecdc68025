package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.Config;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.store.DiskRuntime;
import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.LocalDiskStore;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class DiskCheckCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir Path directory;

    private Path file() {
        return directory.resolve("dataserver.toml");
    }

    private DataServerConfig config() {
        return Config.load(file(), DataServerConfig.class);
    }

    @BeforeEach
    void configure() throws Exception {
        Files.writeString(
                file(),
                """
                state_dir = "state"
                mds = ["127.0.0.1:7000"]
                [[disk]]
                data = "disk/data"
                wal = "disk/wal"
                index = "disk/index"
                capacity = "64MiB"
                wal_size = "32MiB"
                wal_segment = "8MiB"
                """);
    }

    private int check(String... more) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        CommandLine line = Main.commandLine(false, more.length > 0 && more[0].equals("--json"));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        String[] words = new String[4 + more.length];
        System.arraycopy(
                new String[] {"disk", "check", "--config", file().toString()}, 0, words, 0, 4);
        System.arraycopy(more, 0, words, 4, more.length);
        return line.execute(words);
    }

    private interface Use {
        void of(IndexDatabases databases) throws Exception;
    }

    private void use(Use use) throws Exception {
        try (RocksMemory memory = new RocksMemory(config().rocksdbMemory())) {
            use.of(new IndexDatabases(config().rocksdbOfEachDisk(), memory, Meters.unpublished()));
        }
    }

    /** As a data server did that is stopped now. */
    private void makeDisk() throws Exception {
        use(databases -> {
            DiskRuntime runtime =
                    new DiskRuntime(databases, DeviceFiles.system(), (what, e) -> {}, false);
            try (DiskStore store =
                    LocalDiskStore.open(
                            DiskConfig.of(config().disk().getFirst()), new UUID(1, 2), runtime)) {
                assertThat(store.pgs()).isEmpty();
            }
        });
        IdentityDirectory.open(config().stateDir()).close();
    }

    @Test
    void sayWhetherIndexAndSummaryAgree() throws Exception {
        makeDisk();
        assertThat(check()).isZero();
        assertThat(out.toString())
                .contains("disk/data: disk ")
                .contains("0 placement groups, index and summary agree");

        use(databases -> {
            try (ChunkIndex index =
                    ChunkIndex.open(
                            config().disk().getFirst().index(),
                            new UUID(1, 2),
                            databases,
                            DiskCalls.unwatched(),
                            (what, e) -> {})) {
                index.forgetSummary();
            }
        });
        assertThat(check()).isEqualTo(1);
        assertThat(out.toString()).contains("there is no summary").contains("--forget-summary");
        assertThat(check("--json")).isEqualTo(1);
        JsonNode disk = JsonMapper.shared().readTree(out.toString()).get(0);
        assertThat(disk.get("differences").get(0).asString()).isEqualTo("there is no summary");
        assertThat(disk.get("data").asString()).endsWith("disk/data");
        assertThat(check("--forget-summary")).isEqualTo(1);
        assertThat(out.toString()).contains("the next start reads the whole index");

        makeDisk();
        assertThat(check()).isZero();
    }

    @Test
    void aServerThatRunsOrNeverRanIsRefused() throws Exception {
        assertThat(check()).isEqualTo(3);
        assertThat(err.toString()).contains("no data server has run with this file");

        makeDisk();
        try (IdentityDirectory _ = IdentityDirectory.open(config().stateDir())) {
            assertThat(check()).isEqualTo(5);
            assertThat(err.toString()).contains("in use by another data server");
        }
        Files.move(directory.resolve("disk/index"), directory.resolve("index-away"));
        assertThat(check()).isEqualTo(1);
        assertThat(err.toString()).contains("the index of disk").contains("is gone");
    }
}
