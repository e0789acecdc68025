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
 * The metadata server's disk runs full: first only deletions are taken, then it stops with one
 * line; with room again everything acknowledged is there.
 */
@Tag("slow")
@Tag("part-1")
class FullRaftLogTest {
    private static final long MIB = 1 << 20;

    @Test
    void fullMetadataDiskTakesDeletionsThenStopsAndLosesNothing() throws IOException {
        Path base = Files.createTempDirectory("cairn-mds-disk");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), "ext4", "512M");
                Cluster cluster = Cluster.temporary("--processes", "--capacity", "1GiB")) {
            cluster.layOut();
            Path data = disk.mountPoint().resolve("mds");
            cluster.configure(
                    "mds-1", c -> c.replace("data_dir = \"state\"", "data_dir = \"" + data + "\""));
            cluster.up();
            Path kept = cluster.mnt().resolve("kept");
            Path removed = cluster.mnt().resolve("removed");
            Files.writeString(kept, "kept");
            Files.writeString(removed, "removed");

            leaveFree(disk, 180 * MIB);
            Awaitility.await("no new files")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> noSpace(cluster.mnt().resolve("new")));
            assertThat(Files.readString(kept)).isEqualTo("kept");
            Files.delete(removed);
            Shell.bash(": > '%s'".formatted(kept)).ok();

            ProcessHandle mds = cluster.process("mds-1").orElseThrow();
            leaveFree(disk, 50 * MIB);
            Cluster.awaitEnd(mds);
            assertThat(Files.readString(cluster.state().resolve("mds-1/log")).lines())
                    .filteredOn(line -> line.startsWith("cairn: stopping at once: "))
                    .singleElement()
                    .asString()
                    .contains("are free for the Raft log in " + data)
                    .contains("make room and start this server again");

            cluster.kill9();
            Shell.Result full = cluster.tryUp();
            assertThat(full.exitCode()).isNotZero();
            assertThat(full.err()).contains("make room and start this server again");
            Files.delete(ballast(disk));
            cluster.up();
            assertThat(kept).isEmptyFile();
            assertThat(removed).doesNotExist();
            Files.writeString(removed, "written again");
            assertThat(Files.readString(removed)).isEqualTo("written again");
        } finally {
            Shell.run("rm", "-rf", "--one-file-system", base.toString());
        }
    }

    private static boolean noSpace(Path directory) throws IOException {
        Shell.Result made = Shell.run("mkdir", directory.toString());
        return !Files.deleteIfExists(directory) && made.err().contains("No space left on device");
    }

    private static Path ballast(LoopDisk disk) {
        return disk.mountPoint().resolve("ballast");
    }

    private static void leaveFree(LoopDisk disk, long bytes) throws IOException {
        Path ballast = ballast(disk);
        long size = Files.exists(ballast) ? Files.size(ballast) : 0;
        long grow = Files.getFileStore(disk.mountPoint()).getUsableSpace() - bytes;
        Shell.run("fallocate", "-l", "" + (size + grow), ballast.toString()).ok();
    }
}
