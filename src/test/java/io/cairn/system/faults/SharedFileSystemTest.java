package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.LoopDisk;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three data servers whose data files lie on one file system of 500 MiB, and are together six times
 * as large: what is acknowledged is there, what does not fit gets ENOSPC, and nobody stops.
 */
@Tag("part-8")
class SharedFileSystemTest {
    private static final int WRITERS = 4;

    @Test
    void serversThatShareAFileSystemPromiseWhatItHas() throws IOException {
        Path base = Files.createTempDirectory("cairn-shared-disk");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), "ext4", "500M");
                Cluster cluster = Cluster.temporary("--capacity", "1GiB", "--wal-size", "64MiB")) {
            for (String part : new String[] {"data-1", "data-2", "data-3"}) {
                Path place = Files.createDirectory(disk.mountPoint().resolve(part));
                Path folder = Files.createDirectories(cluster.state().resolve(part));
                Files.createSymbolicLink(folder.resolve("disk"), place);
            }
            cluster.up();
            Path sums = base.resolve("sums");
            fill(cluster, sums);
            assertThat(cluster.status().path("data_servers").toString())
                    .as(cluster.logs())
                    .contains("\"out\":false")
                    .doesNotContain("\"out\":true");
            check(cluster, sums);

            cluster.kill9();
            cluster.up();
            check(cluster, sums);
            Shell.bash("rm '%s'/f.1.*".formatted(cluster.mnt())).ok();
            Shell.bash("sed -i '/f[.]1[.]/d' '%s'".formatted(sums)).ok();
            // Nothing is freed before the killed mount is evicted, 60 s after the restart: it might
            // read it.
            Awaitility.await("space after the deletions")
                    .atMost(Duration.ofMinutes(2))
                    .until(() -> write(cluster, "again").exitCode() == 0);
            Shell.bash("sha256sum '%s'/again >>'%s'".formatted(cluster.mnt(), sums)).ok();
            check(cluster, sums);
        } finally {
            Shell.run("rm", "-rf", "--one-file-system", base.toString());
        }
    }

    /** Each writer writes files and syncs them until one does not fit; that one is removed. */
    private static void fill(Cluster cluster, Path sums) {
        Shell.Result filled =
                Shell.bash(
                        """
                        cd '%s'
                        fill() {
                            for i in {1..400}; do
                                f=f.$1.$i
                                if ! dd if=/dev/urandom of=$f bs=$2 count=$3 conv=fsync 2>'%s'.$1; then
                                    rm $f
                                    grep -q 'No space left on device' '%s'.$1
                                    return
                                fi
                                sha256sum "$PWD/$f" >>'%s'
                            done
                            return 1
                        }
                        for w in {1..%d}; do
                            fill $w $((w %% 2 ? 1048576 : 16384)) $((w %% 2 ? 2 : 64)) & writers+=($!)
                        done
                        for p in ${writers[@]}; do wait $p || failed=1; done
                        [ -z "$failed" ] || { cat '%s'.*; exit 1; }
                        """
                                .formatted(cluster.mnt(), sums, sums, sums, WRITERS, sums));
        assertThat(filled.exitCode()).as(filled.out() + filled.err() + cluster.logs()).isZero();
        assertThat(sums).isNotEmptyFile();
    }

    private static Shell.Result write(Cluster cluster, String name) {
        return Shell.bash(
                "dd if=/dev/urandom of='%s'/%s bs=1M count=3 conv=fsync"
                        .formatted(cluster.mnt(), name));
    }

    private static void check(Cluster cluster, Path sums) {
        Shell.Result checked = Shell.run("sha256sum", "--quiet", "-c", sums.toString());
        assertThat(checked.exitCode()).as(checked.out() + checked.err() + cluster.logs()).isZero();
    }
}
