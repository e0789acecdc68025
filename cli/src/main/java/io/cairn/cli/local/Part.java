package io.cairn.cli.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * One folder of a local cluster: {@code config.toml}, {@code log}, {@code pid} and the part's data.
 *
 * @param number 1 and up for MDS members and data servers, 1 otherwise
 */
record Part(Path clusterDirectory, PartKind kind, int number) {
    Path folder() {
        return clusterDirectory.resolve(kind.folderName(number));
    }

    String name() {
        return kind.folderName(number);
    }

    Path config() {
        return folder().resolve("config.toml");
    }

    Path log() {
        return folder().resolve("log");
    }

    Path pidFile() {
        return folder().resolve("pid");
    }

    /**
     * The running process of this part. A pid file left over from a crash names nothing, or another
     * program: the process must have been started with the cluster's directory on its command line.
     */
    Optional<ProcessHandle> process() throws IOException {
        long pid;
        try {
            pid = Long.parseLong(Files.readString(pidFile()).strip());
        } catch (NoSuchFileException | NumberFormatException e) {
            return Optional.empty();
        }
        return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).filter(this::runsThisPart);
    }

    private boolean runsThisPart(ProcessHandle process) {
        try {
            String commandLine =
                    new String(
                            Files.readAllBytes(Path.of("/proc", "" + process.pid(), "cmdline")),
                            StandardCharsets.ISO_8859_1);
            String directory =
                    new String(
                            clusterDirectory.toString().getBytes(StandardCharsets.UTF_8),
                            StandardCharsets.ISO_8859_1);
            return commandLine.contains(directory + "/") || commandLine.contains(directory + "\0");
        } catch (IOException e) {
            return false; // ended meanwhile, or somebody else's
        }
    }

    /** What the part said last, for the message to the user. */
    String lastLogLine() {
        try (Stream<String> lines = Files.lines(log(), StandardCharsets.UTF_8)) {
            return lines.filter(line -> !line.isBlank()).reduce("(nothing)", (a, b) -> b);
        } catch (IOException | UncheckedIOException e) {
            return "(unreadable: " + e.getMessage() + ")";
        }
    }
}
