package io.cairn.fuse.mount;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Mounts as user 65534 through fusermount3, in a mount name space of its own where /dev/fuse has
 * the mode it has on a desktop.
 */
class UnprivilegedMountTest {
    /** Of a few starts of a JVM. */
    private static final int LIMIT_SECONDS = 120;

    @TempDir Path temporary;

    @Test
    void mountsAndCleansUpAfterAKill() throws Exception {
        String said = run("halt", "unmount");
        assertThat(said)
                .contains("exists false")
                .contains("type=fuse.cairn, source=cairn")
                .contains("holds a dead Cairn mount")
                .contains("after null");
    }

    @Test
    void allowOtherNeedsPermission() throws Exception {
        assertThat(run("unmount allow_other")).contains("refused: ").contains("user_allow_other");
    }

    @Test
    void deviceThatMayNotBeUsedIsExplained() throws Exception {
        String said = script("chmod 0600 " + temporary + "/fuse\n", "unmount");
        assertThat(said).contains("refused: ").contains("/dev/fuse");
    }

    private String run(String... runs) throws IOException, InterruptedException {
        return script("", runs);
    }

    /** Runs the program once for each list of arguments, one after the other. */
    private String script(String before, String... runs) throws IOException, InterruptedException {
        Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path point = Files.createDirectories(temporary.resolve("mnt"));
        StringBuilder script =
                new StringBuilder("set -e\n")
                        .append("mknod -m 0666 ")
                        .append(temporary)
                        .append("/fuse c 10 229\n")
                        .append(before)
                        .append("mount --bind ")
                        .append(temporary)
                        .append("/fuse /dev/fuse\n")
                        .append("chown 65534:65534 ")
                        .append(point)
                        .append('\n');
        String java = ProcessHandle.current().info().command().orElseThrow();
        for (String arguments : runs) {
            script.append("setpriv --reuid=65534 --regid=65534 --clear-groups ")
                    .append(java)
                    .append(" --enable-native-access=ALL-UNNAMED")
                    .append(" --sun-misc-unsafe-memory-access=allow -cp ")
                    .append(readableClassPath())
                    .append(' ')
                    .append(UnprivilegedMain.class.getName())
                    .append(' ')
                    .append(point)
                    .append(' ')
                    .append(arguments)
                    .append(" </dev/null\n");
        }
        return output(script.toString());
    }

    private String output(String script) throws IOException, InterruptedException {
        Path file = temporary.resolve("output");
        Process shell =
                new ProcessBuilder("unshare", "-m", "sh", "-c", script)
                        .redirectErrorStream(true)
                        .redirectOutput(file.toFile())
                        .start();
        boolean ended = shell.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            shell.descendants().forEach(ProcessHandle::destroyForcibly);
            shell.destroyForcibly();
        }
        String said = Files.readString(file);
        System.out.println(said);
        assertThat(ended).as(said).isTrue();
        assertThat(shell.exitValue()).as(said).isZero();
        return said;
    }

    /** The user may not look into the home directory that Maven's repository lies in. */
    private String readableClassPath() throws IOException {
        List<String> linked = new ArrayList<>();
        Path into = temporary.resolve("classpath");
        int number = 0;
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path from = Path.of(entry);
            if (!Files.exists(from)) {
                continue;
            }
            Path to = into.resolve(number++ + "-" + from.getFileName());
            linked.add(to.toString());
            if (!Files.exists(to)) {
                link(from, to);
            }
        }
        return String.join(":", linked);
    }

    private static void link(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Path target = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(target);
                } else {
                    Path parent = target.getParent();
                    Files.createDirectories(parent == null ? to : parent);
                    try {
                        Files.createLink(target, file);
                    } catch (IOException otherFileSystem) {
                        Files.copy(file, target);
                    }
                }
            }
        }
    }
}
