package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KnownDisksTest {
    @TempDir Path state;

    @Test
    void remembersWhichDiskWasWhere() throws Exception {
        UUID first = UUID.randomUUID();
        UUID second = UUID.randomUUID();
        Path a = Path.of("/disks/with a space/data");
        Path b = Path.of("/disks/b/../c/data");
        KnownDisks.in(state).opened(a, UUID.randomUUID());
        KnownDisks.in(state).opened(a, first);
        KnownDisks.in(state).opened(b, second);
        KnownDisks read = KnownDisks.in(state);
        assertThat(read.at(a)).isEqualTo(first);
        assertThat(read.at(Path.of("/disks/c/data"))).isEqualTo(second);
        assertThat(read.at(Path.of("/disks/d"))).isNull();
        assertThat(Files.readString(state.resolve(KnownDisks.FILE)))
                .isEqualTo(second + " /disks/c/data\n" + first + " /disks/with a space/data\n");
    }

    @Test
    void aFileOfSomethingElseIsRefused() throws Exception {
        Files.writeString(state.resolve(KnownDisks.FILE), "not a disk\n");
        assertThatThrownBy(() -> KnownDisks.in(state))
                .isInstanceOf(DiskOpenException.class)
                .hasMessageContaining(KnownDisks.FILE);
    }

    /** What was not written is tried again. */
    @Test
    void whatCannotBeWrittenIsNotRemembered() throws Exception {
        Path data = Path.of("/disks/data");
        UUID disk = UUID.randomUUID();
        KnownDisks known = KnownDisks.in(state);
        Path inTheWay = Files.createDirectories(state.resolve(KnownDisks.FILE).resolve("some"));
        assertThatThrownBy(() -> known.opened(data, disk)).isInstanceOf(DiskOpenException.class);
        assertThat(known.at(data)).isNull();
        Files.delete(inTheWay);
        Files.delete(inTheWay.getParent());
        known.opened(data, disk);
        assertThat(KnownDisks.in(state).at(data)).isEqualTo(disk);
    }
}
