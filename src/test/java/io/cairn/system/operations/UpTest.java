package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;

/** What {@code cairn up} waits for, and says meanwhile. */
class UpTest {
    private static final int CONFIGURATION = 3;

    /** The mount needs no data server: it is there long before one may say that it cannot start. */
    @Test
    void aPartThatEndsAfterTheMountHasAppearedIsNoticed() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.environment(
                    "CAIRN_JAVA",
                    java(
                            cluster,
                            """
                            case "$*" in *dataserver*data-2/config.toml*)
                                until grep -q " $MNT fuse" /proc/mounts; do sleep 0.05; done
                                echo too late
                                exit 3
                            esac
                            """));
            cluster.tryUp().saysOneLine(CONFIGURATION, "data-2 ended with exit code 3", "too late");
            assertThat(cluster.processes()).isEmpty();
            assertThat(Files.readString(Path.of("/proc/mounts")))
                    .doesNotContain(" " + cluster.mnt() + " ");
        }
    }

    @Test
    void onATerminalItSaysWhatItWaitsFor() throws IOException {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            Shell.Result up =
                    Shell.run(
                                    "script",
                                    "-qec",
                                    Cluster.REPOSITORY.resolve("cairn")
                                            + " up "
                                            + cluster.mnt()
                                            + " --processes --dir "
                                            + cluster.state(),
                                    "/dev/null")
                            .ok();
            assertThat(up.out())
                    .contains("\r\033[KWaiting for the mount, 0 s")
                    .contains("\r\033[KCairn is mounted on " + cluster.mnt());
            Shell.Result down = Cluster.cairn("down", "--dir", cluster.state().toString()).ok();
            assertThat(down.out()).isEqualToIgnoringNewLines("Stopped 5 processes.");
        }
    }

    /** A Java for the launcher that does something before it becomes the real one. */
    private static String java(Cluster cluster, String before) throws IOException {
        Path script = cluster.base().resolve("java");
        Files.writeString(
                script,
                "#!/bin/bash\nMNT=%s\n%sexec %s/bin/java \"$@\"\n"
                        .formatted(cluster.mnt(), before, System.getProperty("java.home")));
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        return script.toString();
    }
}
