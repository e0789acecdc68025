package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A mount is killed: what was synced is there, what nobody synced shows in no hole, and what it
 * held is free again.
 */
@Tag("slow")
@Tag("part-7")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DeadClientTest {
    private static final int MIB = 1 << 20;
    private static final String MDS = "mds-1";
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Cluster cluster = Cluster.temporary("--processes");

    @BeforeAll
    void up() {
        cluster.layOut();
        cluster.configure(
                MDS, c -> c + "\n[sessions]\nrenew_interval = \"500ms\"\nexpiry = \"5s\"\n");
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void whatADeadMountWroteBeyondTheSizeReadsAsZeros() throws Exception {
        FileChannel grown;
        FileChannel holed;
        try (Mount victim = publishingLate()) {
            grown = write(victim.mnt().resolve("grown"));
            holed = write(victim.mnt().resolve("holed"));
            victim.kill();
        }
        abandon(grown);
        abandon(holed);
        Path first = cluster.mnt().resolve("grown");
        Path second = cluster.mnt().resolve("holed");
        assertThat(Files.size(first)).as("nothing was published").isZero();
        assertThat(Files.size(second)).as("nothing was published").isZero();
        Awaitility.await("the dead mount's session is over")
                .atMost(LIMIT)
                .until(() -> cluster.status().path("mounts").size() == 1);

        Shell.run("truncate", "-s", "" + MIB, first.toString()).ok();
        assertThat(nonZeros(Files.readAllBytes(first))).as("grown by truncate").isZero();
        try (FileChannel channel =
                FileChannel.open(
                        second, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            channel.write(ByteBuffer.wrap(new byte[] {'x'}), 2 * MIB);
        }
        byte[] content = Files.readAllBytes(second);
        assertThat(content).hasSize(2 * MIB + 1).endsWith('x');
        assertThat(nonZeros(content)).as("but for the byte at the end").isEqualTo(1);
    }

    /**
     * Argument: a directory of the mount. Prints the number of each record that is synced, and at
     * last the error that ended it. Holds a file that has no name any more, the right to append,
     * and a file that another thread writes all the time.
     */
    private static final String WRITER =
            """
            import errno, os, sys, threading
            def opened(name, *flags):
                return os.open(sys.argv[1] + '/' + name, os.O_CREAT | os.O_RDWR | sum(flags), 0o644)
            def busy():
                f = opened('busy')
                try:
                    while True:
                        os.pwrite(f, bytes(1 << 20), 0)
                except OSError:
                    pass
            held = opened('held')
            os.write(held, bytes(1 << 20))
            os.unlink(sys.argv[1] + '/held')
            records, log = opened('records'), opened('log', os.O_APPEND)
            threading.Thread(target=busy).start()
            i = 0
            try:
                while True:
                    os.pwrite(records, bytes([i % 251]) * 10007, i * 10007)
                    os.write(log, b'%d\\n' % i)
                    os.fsync(records)
                    os.fsync(log)
                    print(i, flush=True)
                    i += 1
            except OSError as e:
                print(errno.errorcode[e.errno], flush=True)
            """;

    @ParameterizedTest
    @ValueSource(strings = {"native", "jnr"})
    void aMountKilledDuringIoIsMadeAgainAndHoldsNothing(String binding) throws Exception {
        Path work = cluster.work(binding);
        Awaitility.await("sessions of other tests are over")
                .atMost(LIMIT)
                .until(() -> mds("sessions") == 1);
        double inodes = mds("inodes");
        Path said = cluster.base().resolve(binding + ".said");
        Mount victim = cluster.mount("victim", "-o", "binding=" + binding);
        Path mountPoint = victim.mnt();
        Process writer =
                new ProcessBuilder("python3", "-c", WRITER, mountPoint.resolve(binding).toString())
                        .redirectOutput(said.toFile())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        Awaitility.await("records").atMost(LIMIT).until(() -> Files.readAllLines(said).size() > 20);
        assertThat(mds("inodes")).as("with the file that has no name").isEqualTo(inodes + 4);
        victim.die();
        assertThat(writer.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).as("its I/O ends").isTrue();
        List<String> lines = Files.readAllLines(said);
        assertThat(lines.getLast()).isIn("ENOTCONN", "ECONNABORTED");
        int synced = lines.size() - 1;

        Files.writeString(work.resolve("log"), "after", StandardOpenOption.APPEND);
        checkContents(work, synced);
        Awaitility.await("the file without a name is deleted")
                .atMost(LIMIT)
                .until(() -> mds("inodes") == inodes + 3);
        assertThat(mds("sessions")).as("only the other mount's is left").isEqualTo(1);

        Shell.run("umount", mountPoint.toString()).ok();
        Mount again = cluster.mount("victim", "-o", "binding=" + binding);
        checkContents(mountPoint.resolve(binding), synced);
        again.die();
        try (Mount overIt = cluster.mount("victim", "-o", "binding=" + binding)) {
            checkContents(overIt.mnt().resolve(binding), synced);
        }
    }

    private static void checkContents(Path directory, int synced) throws IOException {
        byte[] records = Files.readAllBytes(directory.resolve("records"));
        assertThat(records).hasSizeGreaterThanOrEqualTo(synced * 10_007);
        for (int i = 0; i < synced * 10_007; i++) {
            if (records[i] != (byte) (i / 10_007 % 251)) {
                throw new AssertionError("byte " + i + " of " + synced + " records: " + records[i]);
            }
        }
        List<String> log = Files.readAllLines(directory.resolve("log"));
        assertThat(log.subList(0, synced))
                .isEqualTo(IntStream.range(0, synced).mapToObj(Integer::toString).toList());
        assertThat(log.getLast()).isEqualTo("after");
    }

    private double mds(String meter) throws IOException, InterruptedException {
        return Prometheus.value(cluster, MDS, "cairn_mds_" + meter);
    }

    /** A mount that publishes sizes only when it must. */
    private Mount publishingLate() throws IOException {
        Path config =
                Files.writeString(
                        cluster.base().resolve("victim.toml"),
                        "[client]\nmds = [\"%s\"]\npublish_interval = \"1min\"\n"
                                .formatted(cluster.mds()));
        return cluster.mount("victim", "--config", config.toString());
    }

    /** Written, and neither synced nor closed. */
    private static FileChannel write(Path file) throws IOException {
        FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        byte[] bytes = new byte[MIB];
        Arrays.fill(bytes, (byte) 'd');
        ByteBuffer data = ByteBuffer.wrap(bytes);
        while (data.hasRemaining()) {
            channel.write(data);
        }
        return channel;
    }

    private static void abandon(FileChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            // Its mount is gone.
        }
    }

    private static int nonZeros(byte[] bytes) {
        int count = 0;
        for (byte b : bytes) {
            count += b == 0 ? 0 : 1;
        }
        return count;
    }
}
