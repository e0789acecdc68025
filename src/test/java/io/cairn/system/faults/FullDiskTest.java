package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Disks that fill up: ENOSPC before the acknowledgement, nothing lost, deleting makes space. */
@Tag("slow")
@Tag("part-6")
class FullDiskTest {
    @Test
    void fullDataServersRefuseWritesAndRecoverBySpaceFromDeletes() throws IOException {
        try (Cluster cluster = Cluster.temporary("--capacity", "512MiB")) {
            cluster.up();
            Path kept = cluster.mnt().resolve("kept");
            Shell.bash("head -c 20M /dev/urandom >'%s' && sync '%s'".formatted(kept, kept)).ok();
            String sum = sum(kept);
            Path promised = Files.createFile(cluster.mnt().resolve("promised"));
            Shell.Result allocated = Shell.run("fallocate", "-l", "600M", promised.toString());
            assertThat(allocated.exitCode()).isNotZero();
            assertThat(allocated.err()).contains("No space left on device");
            assertThat(Files.size(promised)).isZero();
            Shell.run("fallocate", "-l", "100M", promised.toString()).ok();
            Path big = cluster.mnt().resolve("big");
            Shell.Result fill =
                    Shell.run(
                            "dd", "if=/dev/zero", "of=" + big, "bs=1M", "count=2000", "conv=fsync");
            assertThat(fill.exitCode()).isNotZero();
            assertThat(fill.err()).contains("No space left on device");
            assertThat(sum(kept)).isEqualTo(sum);
            Files.delete(big);
            Path again = cluster.mnt().resolve("again");
            Awaitility.await("space after the delete")
                    .atMost(Duration.ofMinutes(1))
                    .until(() ->
                            Shell.run(
                                                    "dd",
                                                    "if=/dev/urandom",
                                                    "of=" + again,
                                                    "bs=1M",
                                                    "count=100",
                                                    "conv=fsync")
                                            .exitCode()
                                    == 0);
            String sumAgain = sum(again);
            cluster.kill9();
            cluster.up();
            assertThat(sum(kept)).isEqualTo(sum);
            assertThat(sum(again)).isEqualTo(sumAgain);
        }
    }

    /** The log's space is taken when it is made, so a device that is too small is said then. */
    @Test
    void aDeviceTooSmallForTheLogIsSaidAndUsedWhenItHasGrown() throws IOException {
        try (Cluster cluster = Cluster.temporary("--capacity", "512MiB", "--wal-size", "64MiB")) {
            Path wal = cluster.state().resolve("data-1/disk/wal");
            Files.createDirectories(wal);
            Shell.run("mount", "-t", "tmpfs", "-o", "size=40M", "tmpfs", wal.toString()).ok();
            try {
                Shell.Result refused = cluster.tryUp();
                assertThat(refused.exitCode()).isNotZero();
                assertThat(refused.err())
                        .contains(wal.toString())
                        .contains("No space left on device")
                        .contains("wal_size");
                Shell.run("mount", "-o", "remount,size=80M", wal.toString()).ok();
                cluster.up();
                Shell.run("dd", "if=/dev/zero", "of=" + wal.resolve("other"), "bs=1M");
                writeOverTheLogsSize(cluster);
            } finally {
                Cluster.kill9(cluster.processes()); // none if it did not come up
                Shell.run("umount", "-l", wal.toString());
            }
        }
    }

    /** Much more than the logs take, in writes that go through them. */
    @Test
    void logsThatFillSlowWritersAndStopNobody() {
        try (Cluster cluster = Cluster.temporary("--capacity", "1GiB", "--wal-size", "64MiB")) {
            cluster.up();
            writeOverTheLogsSize(cluster);
            String sums =
                    Shell.bash("cat '%s'/f.* | sha256sum".formatted(cluster.mnt())).ok().out();
            cluster.kill9();
            cluster.up();
            assertThat(Shell.bash("cat '%s'/f.* | sha256sum".formatted(cluster.mnt())).ok().out())
                    .isEqualTo(sums);
        }
    }

    private static void writeOverTheLogsSize(Cluster cluster) {
        Shell.run(
                        "fio",
                        "--name=f",
                        "--directory=" + cluster.mnt(),
                        "--rw=randwrite",
                        "--bs=128k",
                        "--size=48M",
                        "--loops=3",
                        "--numjobs=6",
                        "--iodepth=64",
                        "--ioengine=libaio",
                        "--direct=1",
                        "--verify=crc32c",
                        "--verify_fatal=1",
                        "--verify_state_save=0")
                .ok();
    }

    private static String sum(Path file) {
        return Shell.run("sha256sum", file.toString()).ok().out();
    }
}
