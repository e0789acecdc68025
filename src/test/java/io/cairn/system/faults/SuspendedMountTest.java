package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.Signals;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A mount is paused until the cluster has evicted it, as a laptop that sleeps, while another one
 * goes on: back again, it works on, but for what was lost.
 */
@Tag("slow")
@Tag("part-6")
class SuspendedMountTest {
    private static final String MDS = "mds-1";
    private static final Duration LIMIT = Duration.ofMinutes(2);

    @Test
    void aMountThatWasEvictedWorksOn() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.layOut();
            cluster.configure(
                    MDS, c -> c + "\n[sessions]\nrenew_interval = \"500ms\"\nexpiry = \"5s\"\n");
            cluster.up();
            try (Mount laptop = publishingLate(cluster)) {
                sleepsAndWakes(cluster, laptop);
            }
        }
    }

    private void sleepsAndWakes(Cluster cluster, Mount laptop) throws IOException {
        Path here = laptop.mnt();
        Path there = cluster.mnt();
        Files.writeString(here.resolve("changed"), "before");
        try (Signals signals = laptop.signals();
                FileChannel clean = open(here, "clean");
                FileChannel dirty = open(here, "dirty");
                FileChannel deleted = open(here, "deleted");
                FileChannel nameless = open(here, "nameless");
                FileChannel changed = FileChannel.open(here.resolve("changed"));
                FileChannel log = open(here, "log", StandardOpenOption.APPEND)) {
            for (FileChannel file : new FileChannel[] {clean, deleted, nameless, log}) {
                write(file, "first,");
                file.force(true);
            }
            write(dirty, "first,");
            Files.delete(here.resolve("nameless"));
            assertThat(text(changed)).as("now in the kernel's cache").isEqualTo("before");

            whileItSleeps(cluster, signals, there);

            assertThat(Files.readString(here.resolve("new"))).isEqualTo("made meanwhile");
            assertThat(here.resolve("deleted")).doesNotExist();
            Files.createDirectory(here.resolve("directory"));
            assertThat(there.resolve("directory")).isDirectory();
            Awaitility.await("the kernel has dropped what it had read")
                    .atMost(LIMIT)
                    .until(() -> text(changed).equals("AFTER!"));

            write(clean, "second");
            clean.force(true);
            assertThat(Files.readString(there.resolve("clean"))).isEqualTo("first,second");
            write(log, "third");
            log.force(true);
            assertThat(Files.readString(there.resolve("log"))).isEqualTo("first,second,third");

            assertThatThrownBy(() -> write(dirty, "second")).hasMessageContaining("nput/output");
            assertThatThrownBy(() -> dirty.force(true)).hasMessageContaining("nput/output");
            assertThat(Files.size(here.resolve("dirty"))).isZero();
            try (FileChannel again = open(here, "dirty")) {
                write(again, "again");
                again.force(true);
            }
            assertThat(Files.readString(there.resolve("dirty"))).isEqualTo("again");
            assertThatThrownBy(() -> dirty.force(true)).hasMessageContaining("nput/output");

            for (FileChannel gone : new FileChannel[] {deleted, nameless}) {
                assertThatThrownBy(() -> text(gone)).hasMessageContaining("tale file handle");
                assertThatThrownBy(() -> write(gone, "x")).hasMessageContaining("tale file handle");
                assertThatThrownBy(gone::close).hasMessageContaining("tale file handle");
            }
            assertThatThrownBy(dirty::close).hasMessageContaining("nput/output");
        }
        assertThat(laptop.log()).contains("has ended").contains("the client goes on");
    }

    /** Starts no process, see {@link Signals}. */
    private static void whileItSleeps(Cluster cluster, Signals signals, Path there)
            throws IOException {
        signals.stop();
        try {
            Awaitility.await("evicted")
                    .atMost(LIMIT)
                    .until(() -> Prometheus.value(cluster, MDS, "cairn_mds_evictions_total") > 0);
            Files.writeString(there.resolve("new"), "made meanwhile");
            Files.delete(there.resolve("deleted"));
            Files.writeString(there.resolve("changed"), "AFTER!");
            Files.writeString(there.resolve("log"), "second,", StandardOpenOption.APPEND);
        } finally {
            signals.send("CONT");
        }
    }

    /** A mount that publishes sizes only when it must. */
    private static Mount publishingLate(Cluster cluster) throws IOException {
        Path config =
                Files.writeString(
                        cluster.base().resolve("laptop.toml"),
                        "[client]\nmds = [\"%s\"]\npublish_interval = \"1min\"\n"
                                .formatted(cluster.mds()));
        return cluster.mount("laptop", "--config", config.toString());
    }

    private static FileChannel open(Path directory, String name, OpenOption... how)
            throws IOException {
        return FileChannel.open(
                directory.resolve(name),
                how.length > 0
                        ? new OpenOption[] {StandardOpenOption.CREATE, how[0]}
                        : new OpenOption[] {
                            StandardOpenOption.CREATE,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE
                        });
    }

    private static void write(FileChannel file, String text) throws IOException {
        ByteBuffer data = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (data.hasRemaining()) {
            file.write(data);
        }
    }

    /** All of it, from its beginning. */
    private static String text(FileChannel file) throws IOException {
        ByteBuffer data = ByteBuffer.allocate(100);
        while (file.read(data, data.position()) > 0) {
            // until its end
        }
        return new String(data.array(), 0, data.position(), StandardCharsets.UTF_8);
    }
}
