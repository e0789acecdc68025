package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/**
 * A disk of a data server, in a folder of that server, and what can be done to it while the server
 * is stopped. One thread.
 */
final class ServerDisk {
    private static final String TABLE =
            """

            [[disk]]
            data = "%1$s/data"
            wal = "%1$s/wal"
            index = "%1$s/index"
            capacity = "256MiB"
            wal_size = "64MiB"
            wal_segment = "16MiB"
            """;

    private final Cluster cluster;
    private final String server;
    private final Path folder;
    private final Path away;
    private final Path segment;
    private final Path awaySegment;
    private List<Path> tables = List.of();

    /**
     * @param server name of the part
     * @param folder name of the disk's folder
     */
    ServerDisk(Cluster cluster, String server, String folder) {
        this.cluster = cluster;
        this.server = server;
        this.folder = cluster.state().resolve(server).resolve(folder);
        this.away = this.folder.resolveSibling("not-mounted");
        this.segment = wal().resolve("segment-00001");
        this.awaySegment = this.folder.resolveSibling("segment");
    }

    /** Has a cluster that was laid out give it to its server as a further disk. */
    void addToConfiguration() {
        cluster.configure(server, c -> c + TABLE.formatted(folder.getFileName()));
    }

    Path folder() {
        return folder;
    }

    Path data() {
        return folder.resolve("data");
    }

    Path wal() {
        return folder.resolve("wal");
    }

    Path index() {
        return folder.resolve("index");
    }

    Path segment() {
        return segment;
    }

    /** What the status says of it now; missing if that is nothing. */
    JsonNode status() {
        return ofServer()
                .path("disks")
                .valueStream()
                .filter(this::isThis)
                .findAny()
                .orElse(MissingNode.getInstance());
    }

    private JsonNode ofServer() {
        return cluster.status()
                .path("data_servers")
                .valueStream()
                .filter(s -> s.path("disks").valueStream().anyMatch(this::isThis))
                .findAny()
                .orElse(MissingNode.getInstance());
    }

    private boolean isThis(JsonNode disk) {
        return disk.path("data").asString().equals(data().toString());
    }

    /** Its number in the cluster; waits until it has one. */
    int id() {
        return Awaitility.await("disk " + data() + " in the status")
                .atMost(Duration.ofMinutes(1))
                .until(() -> status().path("id").asInt(), id -> id > 0);
    }

    /** That of its server; call {@link #id} before. */
    int serverId() {
        return ofServer().path("id").asInt();
    }

    void stopServer() {
        ProcessHandle process = cluster.process(server).orElseThrow();
        process.destroy();
        Cluster.awaitEnd(process);
    }

    void startServer() {
        cluster.start(server, "dataserver");
    }

    /** As if its file system were not mounted. */
    void takeAway() throws IOException {
        Files.move(folder, away);
    }

    void putBack() throws IOException {
        assertThat(folder).as("no new disk in its place").doesNotExist();
        Files.move(away, folder);
    }

    void takeSegmentAway() throws IOException {
        Files.move(segment, awaySegment);
    }

    void putSegmentBack() throws IOException {
        Files.move(awaySegment, segment);
    }

    /** Changes a bit of each table of the index. */
    void damageIndex() throws IOException {
        try (Stream<Path> files = Files.list(index())) {
            tables = files.filter(f -> f.toString().endsWith(".sst")).toList();
        }
        assertThat(tables).isNotEmpty();
        flipTables();
    }

    void mendIndex() throws IOException {
        flipTables();
    }

    private void flipTables() throws IOException {
        for (Path table : tables) {
            flipBit(table, 10);
        }
    }

    /** Changes a bit of what is in the data file there, in bytes. */
    void flipBit(long at) throws IOException {
        flipBit(data(), at);
    }

    private static void flipBit(Path file, long at) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, at);
            one.put(0, (byte) (one.get(0) ^ 4));
            channel.write(one.flip(), at);
        }
    }
}
