package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A disk that is open is not opened again, whatever its parts are called. */
class StoreHoldTest {
    private static final String SIZES =
            "capacity = '16MiB'\nwal_size = '32MiB'\nwal_segment = '8MiB'\n";

    private final IndexDatabases databases = StoreHarness.databases();
    private Path home;
    private DiskConfig config;

    @BeforeEach
    void makeDisk(@TempDir Path directory) throws Exception {
        home = Files.createDirectory(directory.resolve("home"));
        config = TestDisks.in(home, SIZES);
        open(config).close();
    }

    @AfterEach
    void free() {
        databases.memory().close();
    }

    private LocalDiskStore open(DiskConfig disk) throws DiskOpenException {
        return LocalDiskStore.open(
                disk,
                StoreHarness.CLUSTER,
                new DiskRuntime(databases, DeviceFiles.system(), (what, cause) -> {}, false));
    }

    @Test
    void byAnotherNameItIsTheSameDisk() throws Exception {
        Path link = Files.createSymbolicLink(home.resolveSibling("link"), home);
        DiskConfig renamed = TestDisks.in(link, SIZES);
        UUID uuid;
        try (LocalDiskStore store = open(config)) {
            uuid = store.uuid();
            assertThatThrownBy(() -> open(renamed))
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining(link.resolve("data") + " is in use: ");
            assertThatThrownBy(() -> DiskCheck.check(renamed, databases, false))
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining(link.resolve("data") + " is in use: ");
        }
        try (LocalDiskStore store = open(renamed)) {
            assertThat(store.uuid()).isEqualTo(uuid);
        }
    }

    /** Of a new disk and of one that was there before. */
    @ParameterizedTest
    @ValueSource(strings = {"wal", "index"})
    void anotherDiskDoesNotShareADirectory(String part) throws Exception {
        Path other = Files.createDirectory(home.resolveSibling("other"));
        Path shared = other.resolve(part);
        Files.createSymbolicLink(shared, home.resolve(part));
        DiskConfig second = TestDisks.in(other, SIZES);
        try (LocalDiskStore _ = open(config)) {
            assertRefused(second, shared);
            Files.delete(shared);
            open(second).close();
            Files.move(shared, home.resolveSibling("kept"));
            Files.createSymbolicLink(shared, home.resolve(part));
            assertRefused(second, shared);
        }
        open(config).close();
    }

    private void assertRefused(DiskConfig disk, Path part) {
        assertThatThrownBy(() -> open(disk))
                .isInstanceOf(DiskOpenException.class)
                .hasMessageContaining(part + " is in use: ");
    }

    /** What did not open holds nothing. */
    @Test
    void aDiskThatDidNotOpenCanBeOpened() throws Exception {
        Path index = config.index();
        Path away = home.resolve("away");
        Files.move(index, away);
        assertThatThrownBy(() -> open(config)).hasMessageContaining("the index of disk");
        Files.move(away, index);
        open(config).close();
    }
}
