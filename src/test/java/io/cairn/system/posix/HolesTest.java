package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Load;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Files that are cut, grown over the cut and read back, while another mount keeps the machine busy.
 * What is done to them is in {@code holes.py}; {@code -Dcairn.test.holes.minutes=30} does it
 * longer.
 */
@Tag("part-7")
@ExtendWith(SharedCluster.class)
class HolesTest {
    private static final double SECONDS =
            60 * Double.parseDouble(System.getProperty("cairn.test.holes.minutes", "0.05"));

    private static final int PROCESSES = 2;

    private final long seed = TestSeed.of("HolesTest");

    @Test
    void aHoleReadsAsZeros(Cluster cluster) throws Exception {
        try (Mount busy = cluster.mount("busy");
                Load load = new Load(busy)) {
            Process cached = begin(cluster.work("holes-cached"), SECONDS);
            Process direct = begin(cluster.work("holes-direct"), SECONDS, "direct");
            for (Process each : List.of(cached, direct)) {
                String said = end(each);
                assertThat(each.exitValue()).as(said).isZero();
                assertThat(said.lines().filter(line -> line.contains(": ok, ")))
                        .as(said)
                        .hasSize(PROCESSES);
            }
            assertThat(load.isAlive()).as("the load beside it").isTrue();
        }
    }

    /** The test of the test: bytes that it did not write must be noticed. */
    @Test
    void aFileThatChangesByItselfIsCaught(Cluster cluster) throws Exception {
        Path directory = cluster.work("holes-disturbed");
        Process holes = begin(directory, 2);
        byte[] strange = new byte[1 << 20];
        while (holes.isAlive()) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
                for (Path file : files) {
                    Files.write(file, strange);
                }
            }
        }
        String said = end(holes);
        assertThat(holes.exitValue()).as(said).isEqualTo(1);
        assertThat(said.lines().filter(line -> line.contains(" instead of ")))
                .as(said)
                .hasSize(PROCESSES);
    }

    private Process begin(Path directory, double seconds, String... how) throws IOException {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                "python3",
                                Cluster.REPOSITORY
                                        .resolve("src/test/resources/holes.py")
                                        .toString(),
                                directory.toString(),
                                "" + PROCESSES,
                                "" + seconds,
                                "" + seed));
        command.addAll(List.of(how));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Returns what it said. */
    private static String end(Process process) throws IOException, InterruptedException {
        String said = new String(process.getInputStream().readAllBytes());
        process.waitFor();
        System.out.print(said);
        return said;
    }
}
