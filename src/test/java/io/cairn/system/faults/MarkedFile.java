package io.cairn.system.faults;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A file of one chunk, each page of which says whose it is, so that it can be found on the disks
 * below. It is read and written by programs of their own, past all caches of the mount: the test
 * itself never waits for a disk. One thread.
 */
final class MarkedFile {
    static final int PAGE_BYTES = 4096;

    private static final int PAGES = 128;

    /** Long enough for any wait that is meant to end. */
    private static final String PATIENCE = "120";

    private final Cluster cluster;
    private final Path path;
    private int version;

    /** Writes a new file. */
    MarkedFile(Cluster cluster, Path path) {
        this.cluster = cluster;
        this.path = path;
        write();
    }

    Path path() {
        return path;
    }

    /** The disks of its replicas, the primary's first. */
    List<Integer> disks() {
        String dir = cluster.state().toString();
        Shell.Result info = Cluster.cairn("info", "--json", "--dir", dir, path.toString()).ok();
        JsonNode replicas =
                JsonMapper.shared().readTree(info.out()).path("chunks").path(0).path("replicas");
        return replicas.valueStream().map(r -> r.path("disk").asInt()).toList();
    }

    /** Gives it new content; returns when that is durable on all replicas. */
    void write() {
        awaitEnd(beginWrite());
    }

    /** Begins to give it new content, which counts when the program has ended. */
    Process beginWrite() {
        version++;
        try {
            Files.write(local(), content());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return start(
                "exec dd if='%s' of='%s' bs=512K oflag=direct conv=notrunc status=none"
                        .formatted(local(), path));
    }

    /** Fails unless it has the content that was written last. */
    void check() {
        awaitEnd(beginCheck());
    }

    /** Begins to read it; the program ends with 0 if it has the content that was written last. */
    Process beginCheck() {
        return start(
                "set -o pipefail; dd if='%s' bs=512K iflag=direct status=none | cmp - '%s'"
                        .formatted(path, local()));
    }

    /**
     * Where a page of the content that was written last lies in a disk's data file, bytes.
     *
     * @return -1 if it is not there
     */
    long find(Path data, int page) {
        byte[] wanted = Arrays.copyOfRange(content(), page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
        try (FileChannel file = FileChannel.open(data, StandardOpenOption.READ)) {
            ByteBuffer piece = ByteBuffer.allocate(1 << 20);
            for (long at = 0; file.read(piece.clear(), at) > 0; at += piece.capacity()) {
                for (int i = 0; i + PAGE_BYTES <= piece.position(); i += PAGE_BYTES) {
                    if (Arrays.equals(piece.array(), i, i + PAGE_BYTES, wanted, 0, PAGE_BYTES)) {
                        return at + i;
                    }
                }
            }
            return -1;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns when a program of ours has ended, and fails unless it ended well. */
    void awaitEnd(Process program) {
        try {
            String said =
                    new String(program.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (program.waitFor() != 0) {
                throw new AssertionError(
                        "%s: exit code %d, %s%s"
                                .formatted(path, program.exitValue(), said, cluster.logs()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Process start(String line) {
        try {
            return new ProcessBuilder("timeout", "-s", "KILL", PATIENCE, "bash", "-c", line)
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path local() {
        return cluster.base().resolve(path.getFileName() + "-" + version);
    }

    private byte[] content() {
        byte[] content = new byte[PAGES * PAGE_BYTES];
        new Random(version).nextBytes(content);
        for (int page = 0; page < PAGES; page++) {
            byte[] mark =
                    "%s, version %d, page %d\n"
                            .formatted(path.getFileName(), version, page)
                            .getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(mark, 0, content, page * PAGE_BYTES, mark.length);
        }
        return content;
    }
}
