package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.dataserver.ground.DataServerConfig.DiskTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskFormatterTest {
    private static final UUID CLUSTER = new UUID(1, 2);

    @TempDir Path directory;

    private DiskConfig config(String data, String wal, String index) {
        String keys =
                "data = '%s'\nwal = '%s'\nindex = '%s'\ncapacity = '16MiB'\n"
                        .formatted(data, wal, index);
        String file = directory.resolve("disk.toml").toString();
        return DiskConfig.of(Config.parse(file, keys, DiskTable.class));
    }

    private static Superblock open(DiskConfig disk) throws Exception {
        return new DiskFormatter(disk, DeviceFiles.system())
                .openOrFormat(CLUSTER, null, s -> makeParts(disk));
    }

    private static void makeParts(DiskConfig disk) throws IOException {
        Files.writeString(disk.wal().resolve("segment"), "of the log");
        Files.writeString(disk.index().resolve("table"), "of the index");
    }

    /** As by a power cut when the parts are made. */
    private static void interrupt(DiskConfig disk) {
        DiskFormatter formatter = new DiskFormatter(disk, DeviceFiles.system());
        assertThatThrownBy(() ->
                        formatter.openOrFormat(
                                CLUSTER,
                                null,
                                s -> {
                                    makeParts(disk);
                                    throw new IOException("interrupted");
                                }))
                .hasMessage("interrupted");
    }

    private List<String> names(String part) throws IOException {
        try (Stream<Path> entries = Files.list(directory.resolve(part))) {
            return entries.map(p -> p.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void whatWasInterruptedStartsOver() throws Exception {
        DiskConfig disk = config("data", "wal", "index");
        interrupt(disk);
        assertThat(names("wal")).hasSize(2).element(0).asString().startsWith("formatting-");
        interrupt(disk);
        assertThat(names("index")).hasSize(2);
        Superblock made = open(disk);
        assertThat(made.state()).isEqualTo(Superblock.State.READY);
        assertThat(names("wal")).containsExactly("segment", DiskFormatter.SUPERBLOCK);
        assertThat(names("index")).containsExactly("table");
        assertThat(open(disk)).isEqualTo(made);
    }

    /** The directories that are configured now are another disk's. */
    @Test
    void whatWasInterruptedTakesNothingFromAnotherDisk() throws Exception {
        DiskConfig whole = config("data", "wal", "index");
        Superblock made = open(whole);
        interrupt(config("data-2", "wal-2", "index-2"));
        for (DiskConfig mixed :
                List.of(config("data-2", "wal", "index-2"), config("data-2", "wal-2", "index"))) {
            assertThatThrownBy(() -> open(mixed))
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining("formatting " + mixed.data() + " was interrupted");
        }
        assertThat(names("wal-2")).contains("segment");
        assertThat(open(whole)).isEqualTo(made);
        assertThat(names("index")).containsExactly("table");
        assertThat(open(config("data-2", "wal-2", "index-2")).disk()).isNotEqualTo(made.disk());
    }

    /** Power was cut when all was done but for the marks. */
    @Test
    void marksThatWereLeftGo() throws Exception {
        DiskConfig disk = config("data", "wal", "index");
        Superblock made = open(disk);
        Files.createFile(directory.resolve("wal/formatting-" + made.disk()));
        Files.createFile(directory.resolve("index/formatting-" + made.disk()));
        assertThat(open(disk)).isEqualTo(made);
        assertThat(names("wal")).containsExactly("segment", DiskFormatter.SUPERBLOCK);
        assertThat(names("index")).containsExactly("table");
    }
}
