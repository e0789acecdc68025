package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says whether the last run on a disk ended in order. Where it did not, a sync may have failed, and
 * the kernel's page cache may have what the device has not: the disk is then read again from the
 * device.
 *
 * <p>The mark is the file {@code running} in the directory of the write-ahead log. It is written
 * when a run begins, as a disk that fails may not take it any more, and removed when the run ends
 * in order; what failed is added when the disk takes it. It is not synced: a power cut that loses
 * it leaves no page cache either. Any thread.
 */
public final class RunMark {
    private static final Logger LOG = LoggerFactory.getLogger(RunMark.class);

    private static final String NAME = "running";

    /** A disk that failed may hang: then its reason is not written. */
    private static final long REASON_MILLIS = 500;

    private final Path file;
    private volatile boolean failed;

    private RunMark(Path file) {
        this.file = file;
    }

    /**
     * Begins a run. Before anything else is read: after a run that did not end in order, what the
     * page cache has of the disk is forgotten. Every log record is verified when the log is
     * recovered, and every block when it is read; the index verifies its own files.
     */
    public static RunMark begin(DeviceFiles files, DiskConfig config) throws IOException {
        Path file = config.wal().resolve(NAME);
        if (Files.exists(file)) {
            String reason = Files.readString(file).strip();
            if (!reason.isEmpty()) {
                LOG.warn(
                        "The last run on disk {} ended because of an error ({}): its cache is not"
                                + " trusted, it is read again from the device",
                        config.data(),
                        reason);
            }
            files.dropCache(config.data());
            try (DirectoryStream<Path> parts = Files.newDirectoryStream(config.index())) {
                for (Path part : parts) {
                    if (Files.isRegularFile(part)) {
                        files.dropCache(part);
                    }
                }
            }
        }
        Files.writeString(file, "");
        return new RunMark(file);
    }

    /** A handler that adds to the mark what failed, and goes on with the given one. */
    public FatalHandler before(FatalHandler next) {
        return (what, cause) -> {
            failed = true;
            Thread writer = Thread.ofPlatform().daemon().start(() -> write(what + ": " + cause));
            try {
                writer.join(REASON_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            next.fatal(what, cause);
        };
    }

    private void write(String reason) {
        try {
            Files.write(
                    file, reason.lines().findFirst().orElse("").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            LOG.warn("{} does not take why the run ended: {}", file, e.getMessage());
        }
    }

    /** The run ends: in order, if nothing failed. */
    public void end() {
        if (failed) {
            return;
        }
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.warn("{} cannot be removed: the next start reads the disk again", file, e);
        }
    }
}
