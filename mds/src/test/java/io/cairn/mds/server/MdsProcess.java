package io.cairn.mds.server;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.time.BootClock;
import io.cairn.mds.raft.StartWord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A metadata server in a process of its own, which can be killed, and which ends as {@code cairn
 * mds} does when it cannot go on: at once, with one line.
 */
final class MdsProcess implements AutoCloseable {
    private static final String LAST_WORDS = "cairn: stopping at once: ";
    private static final String REFUSAL = "cairn: cannot start: ";
    private static final int FAILED = 1;

    private final Process process;
    private final Path log;
    private final long logStart;

    private MdsProcess(Process process, Path log, long logStart) {
        this.process = process;
        this.log = log;
        this.logStart = logStart;
    }

    static MdsProcess start(Path config, Path log) throws IOException {
        long logStart = Files.exists(log) ? Files.size(log) : 0;
        Process process =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Xmx256m",
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "-Xshare:auto",
                                "--enable-native-access=ALL-UNNAMED",
                                // else the killed process leaves RocksDB in the directory for
                                // temporary files
                                "-Djava.library.path=" + System.getProperty("java.library.path"),
                                "--sun-misc-unsafe-memory-access=allow",
                                "-cp",
                                System.getProperty("java.class.path"),
                                MdsProcess.class.getName(),
                                config.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                        .start();
        return new MdsProcess(process, log, logStart);
    }

    /** kill -9; returns when it is gone. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Its exit code, once it has ended. */
    int awaitEnd() {
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the metadata server does not end");
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Why it stopped at once, in its own words; one element if it said so once. */
    List<String> lastWords() throws IOException {
        return linesAfter(LAST_WORDS);
    }

    /** Why it did not start. */
    List<String> refusal() throws IOException {
        return linesAfter(REFUSAL);
    }

    private List<String> linesAfter(String prefix) throws IOException {
        String said = Files.readString(log).substring((int) logStart);
        return said.lines()
                .filter(line -> line.startsWith(prefix))
                .map(line -> line.substring(prefix.length()))
                .toList();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** The process itself: serves until it is killed, fails, or is left alone by its parent. */
    public static void main(String[] arguments) throws IOException {
        RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32));
        try {
            var _ =
                    MdsServer.start(
                            Config.load(Path.of(arguments[0]), MdsConfig.class),
                            StartWord.NEW_CLUSTER,
                            memory,
                            Meters.unpublished(),
                            BootClock.INSTANCE,
                            (reason, cause) -> {
                                System.out.println(LAST_WORDS + reason);
                                Runtime.getRuntime().halt(FAILED);
                            });
        } catch (IOException | RuntimeException e) {
            System.out.println(REFUSAL + e.getMessage());
            Runtime.getRuntime().halt(FAILED);
        }
        while (System.in.read() >= 0) {
            // Nobody writes: this waits for the parent's end.
        }
        Runtime.getRuntime().halt(0);
    }
}
