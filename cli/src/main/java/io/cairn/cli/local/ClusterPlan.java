package io.cairn.cli.local;

import io.cairn.common.config.ByteSize;
import io.cairn.common.file.Durable;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Lays out a new local cluster: chooses identity and ports and writes every part's configuration.
 *
 * @param capacity of each data server's data file; it is sparse
 * @param walSize of each data server's write-ahead log
 */
record ClusterPlan(int mds, int data, ByteSize capacity, ByteSize walSize) {
    static final String DEFAULT_WAL = "256MiB";
    static final long WAL_SEGMENT = 16 << 20;
    static final long MINIMUM_WAL = 4 * WAL_SEGMENT;

    private static final long MINIMUM_CAPACITY = 1L << 30;

    /** Nine tenths of the free space, shared by the data servers; at least 1 GiB each. */
    static ByteSize defaultCapacity(Path directory, int data) throws IOException {
        @Nullable Path existing = directory;
        while (existing != null && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        FileStore store = Files.getFileStore(existing == null ? Path.of("/") : existing);
        long share = store.getUsableSpace() / 10 * 9 / data;
        return new ByteSize(Math.max(MINIMUM_CAPACITY, share >> 20 << 20));
    }

    void write(ClusterDirectory cluster) throws IOException {
        Ports ports = new Ports();
        String id = UUID.randomUUID().toString();
        List<Integer> mdsPorts = new ArrayList<>();
        List<Integer> raftPorts = new ArrayList<>();
        for (int i = 0; i < mds; i++) {
            mdsPorts.add(ports.free());
            raftPorts.add(ports.free());
        }
        String mdsList =
                mdsPorts.stream()
                        .map(port -> "\"127.0.0.1:" + port + "\"")
                        .collect(Collectors.joining(", "));
        for (int i = 0; i < mds; i++) {
            save(
                    cluster.part(PartKind.MDS, i + 1),
                    mdsConfig(id, i + 1, mdsPorts, raftPorts, ports.free()));
        }
        for (int i = 1; i <= data; i++) {
            save(
                    cluster.part(PartKind.DATA, i),
                    dataConfig(i, mdsList, ports.free(), ports.free()));
        }
        // Last: it says that the others are there, see ClusterDirectory.
        save(
                cluster.part(PartKind.MOUNT, 1),
                mountConfig(id.replace("-", ""), mdsList, ports.free()));
    }

    private String mdsConfig(
            String id, int member, List<Integer> mdsPorts, List<Integer> raftPorts, int metrics) {
        StringBuilder members = new StringBuilder();
        for (int i = 0; i < mdsPorts.size(); i++) {
            members.append(
                    """

                    [[members]]
                    id = %d
                    address = "127.0.0.1:%d"
                    raft_address = "127.0.0.1:%d"
                    """
                            .formatted(i + 1, mdsPorts.get(i), raftPorts.get(i)));
        }
        return """
        # Written by 'cairn up'. Every key is explained in docs/configuration.md.
        cluster_id = "%s"
        member_id = %d
        data_dir = "state"
        metrics_address = "127.0.0.1:%d"

        [data_servers]
        bootstrap_disks = %d

        [pool]
        size = %d
        min_size = %d
        failure_domain = "server"
        %s\
        """
                .formatted(
                        id, member, metrics, data, Math.min(3, data), Math.min(2, data), members);
    }

    private String dataConfig(int number, String mdsList, int port, int metrics) {
        return """
        # Written by 'cairn up'. Every key is explained in docs/configuration.md.
        state_dir = "state"
        listen = "127.0.0.1:%d"
        mds = [%s]
        metrics_address = "127.0.0.1:%d"
        host = "server-%d"
        # All servers share one machine, maybe one process and its direct memory.
        max_in_flight = "16MiB"

        [[disk]]
        data = "disk/data"
        wal = "disk/wal"
        index = "disk/index"
        capacity = "%s"
        wal_size = "%s"
        wal_segment = "%s"
        """
                .formatted(
                        port,
                        mdsList,
                        metrics,
                        number,
                        capacity,
                        walSize,
                        new ByteSize(WAL_SEGMENT));
    }

    private static String mountConfig(String id, String mdsList, int metrics) {
        return """
        # Written by 'cairn up'. Every key is explained in docs/configuration.md.
        metrics_address = "127.0.0.1:%d"

        [client]
        cluster_id = "%s"
        mds = [%s]
        connect_timeout = "2min"
        # The mount may share one process, and its direct memory, with all servers.
        max_held = "192MiB"
        """
                .formatted(metrics, id, mdsList);
    }

    /** Durable when it returns: without its configuration a cluster's data could not be found. */
    private static void save(Part part, String text) throws IOException {
        Files.createDirectories(part.folder());
        Durable.sync(part.clusterDirectory());
        Durable.write(part.config(), text);
    }
}
