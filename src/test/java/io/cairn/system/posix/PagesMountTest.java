package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pages that kernels keep from one open to the next. {@code -Dcairn.test.rounds} sets how many
 * changes are made, {@code -Dcairn.test.seed} which.
 */
@ExtendWith(SharedCluster.class)
@Tag("native-binding")
class PagesMountTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 1000);
    private static final int FILES = 50;
    private static final Path SCRIPT = Cluster.REPOSITORY.resolve("src/test/resources/pages.py");

    private final Cluster cluster;

    PagesMountTest(Cluster cluster) {
        this.cluster = cluster;
    }

    @ParameterizedTest
    @ValueSource(strings = {"attr_timeout=1", "nolease,attr_timeout=0", "wsync"})
    void whoOpensAFileSeesWhatWasClosedBefore(String options) throws IOException {
        String name = "pages-" + options.replace(',', '-');
        cluster.work(name);
        try (Mount one = cluster.mount("one-" + name, "-o", options);
                Mount two = cluster.mount("two-" + name, "-o", options)) {
            Shell.run(
                            "python3",
                            SCRIPT.toString(),
                            one.mnt().resolve(name).toString(),
                            two.mnt().resolve(name).toString(),
                            Long.toString(TestSeed.of("PagesMountTest")),
                            Integer.toString(ROUNDS))
                    .ok();
        }
    }

    private static long reads(Mount mount) {
        return mount.log().lines().filter(l -> l.matches(".*> read .*")).count();
    }

    private static void write(Path directory, int bytes) throws IOException {
        for (int i = 0; i < FILES; i++) {
            Files.write(directory.resolve("f" + i), new byte[bytes]);
        }
    }

    private static void read(Path directory, int bytes) throws IOException {
        for (int i = 0; i < FILES; i++) {
            assertThat(Files.readAllBytes(directory.resolve("f" + i))).hasSize(bytes);
        }
    }

    @Test
    void whatAMountHasWrittenItDoesNotRead() throws IOException {
        cluster.work("own-pages");
        try (Mount one = cluster.mount("own-pages-one", "-o", "debug");
                Mount two = cluster.mount("own-pages-two", "-o", "debug")) {
            Path here = one.mnt().resolve("own-pages");
            Path there = two.mnt().resolve("own-pages");
            write(here, 16 << 10);
            read(here, 16 << 10);
            write(here, 8 << 10);
            read(here, 8 << 10);
            assertThat(reads(one)).isZero();
            read(there, 8 << 10);
            assertThat(reads(two)).isGreaterThanOrEqualTo(FILES);
            write(there, 12 << 10);
            read(here, 12 << 10);
            assertThat(reads(one)).isGreaterThanOrEqualTo(FILES);
        }
    }
}
