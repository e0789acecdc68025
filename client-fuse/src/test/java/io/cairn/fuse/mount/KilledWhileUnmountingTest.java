package io.cairn.fuse.mount;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A mount that gets SIGKILL while it waits for what unmounting writes back. */
class KilledWhileUnmountingTest {
    /** Leaves a dirty page, and the file open. */
    private static final String DIRTY =
            """
            import mmap, sys
            f = open(sys.argv[1], 'r+b')
            m = mmap.mmap(f.fileno(), 4096)
            m[0] = 1
            print('dirty', flush=True)
            sys.stdin.read()
            """;

    @TempDir Path temporary;

    /** A thread of it in a call on its own mount would keep it, and the mount, for ever. */
    @Test
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void ends() throws Exception {
        Path point = Files.createDirectory(temporary.resolve("mnt"));
        Process mount =
                new ProcessBuilder(
                                ProcessHandle.current().info().command().orElseThrow(),
                                "--enable-native-access=ALL-UNNAMED",
                                "--sun-misc-unsafe-memory-access=allow",
                                "-cp",
                                System.getProperty("java.class.path"),
                                UnmountingMain.class.getName(),
                                point.toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        try (BufferedReader said = reader(mount)) {
            awaitLine(said, "mounted");
            Process writer =
                    new ProcessBuilder("python3", "-c", DIRTY, point.resolve("a").toString())
                            .start();
            try (BufferedReader of = reader(writer)) {
                awaitLine(of, "dirty");
                mount.getOutputStream().close();
                awaitLine(said, "waits");
                mount.destroyForcibly();
                assertThat(mount.waitFor(30, TimeUnit.SECONDS)).as("the mount has ended").isTrue();
            } finally {
                writer.destroyForcibly().waitFor(30, TimeUnit.SECONDS);
            }
        } finally {
            mount.destroyForcibly();
            new ProcessBuilder("umount", "-l", point.toString()).start().waitFor();
        }
    }

    private static BufferedReader reader(Process process) {
        return process.inputReader(StandardCharsets.UTF_8);
    }

    private static void awaitLine(BufferedReader said, String line) throws Exception {
        String next = said.readLine();
        while (next != null && !next.equals(line)) {
            next = said.readLine();
        }
        assertThat(next).isEqualTo(line);
    }
}
