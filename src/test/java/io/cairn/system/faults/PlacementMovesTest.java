package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Load;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A fourth data server is added to three, one is lost for good and comes back after all, one is
 * drained and removed: the data moves by itself, under load, and every file stays what it is.
 */
@Tag("slow")
@Tag("part-8")
class PlacementMovesTest {
    private static final int FILES = 24;
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final List<MarkedFile> files = new ArrayList<>();

    /** Placement groups of each disk; empty while some are not where they are to be. */
    private static Map<Integer, Integer> replicas(Cluster cluster) {
        Map<Integer, Integer> replicas = new TreeMap<>();
        for (JsonNode server : cluster.status().path("data_servers")) {
            for (JsonNode disk : server.path("disks")) {
                int count = disk.path("replicas").asInt();
                if (disk.path("in_sync").asInt() != count) {
                    return Map.of();
                }
                replicas.put(disk.path("id").asInt(), count);
            }
        }
        return replicas;
    }

    private static int pgs(Cluster cluster, String which) {
        return cluster.status().at("/pgs/" + which).asInt(-1);
    }

    /** So many disks have all placement groups, each the same share, and nothing moves any more. */
    private static void awaitSpread(Cluster cluster, int disks) {
        Awaitility.await("all on " + disks + " disks")
                .atMost(PATIENCE)
                .until(
                        () -> replicas(cluster),
                        all -> {
                            int total = all.values().stream().mapToInt(n -> n).sum();
                            return all.values().stream().filter(n -> n > 0).count() == disks
                                    && all.values().stream()
                                            .allMatch(n ->
                                                    n == 0 || Math.abs(n - total / disks) <= 1);
                        });
        Awaitility.await("all are there")
                .atMost(PATIENCE)
                .until(() -> pgs(cluster, "degraded") == 0 && pgs(cluster, "recovering") == 0);
    }

    private static void addServer(Cluster cluster) throws IOException {
        Path folder = Files.createDirectory(cluster.state().resolve("data-4"));
        String address = "127.0.0.1:" + Cluster.freePort();
        String like = Files.readString(cluster.state().resolve("data-1/config.toml"));
        Files.writeString(
                folder.resolve("config.toml"),
                like.replaceAll("(?m)^(metrics_address|jmx_address).*\n", "")
                        .replaceAll("(?m)^listen = .*", "listen = \"" + address + "\"")
                        .replace("server-1", "server-4"));
        cluster.start("data-4", "dataserver");
        JsonNode added =
                JsonMapper.shared()
                        .readTree(ask(cluster, "server", "add", address, "--json").ok().out());
        assertThat(added.at("/server/address").asString()).isEqualTo(address);
        assertThat(added.at("/disks/0/state").asString()).isEqualTo("serving");
    }

    private void checkAll() {
        files.stream().map(MarkedFile::beginCheck).toList().forEach(files.getFirst()::awaitEnd);
    }

    private void writeAll() {
        files.stream().map(MarkedFile::beginWrite).toList().forEach(files.getFirst()::awaitEnd);
    }

    private static Shell.Result ask(Cluster cluster, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--mds", cluster.mds()));
        return Cluster.cairn(all);
    }

    /** The data files of all disks, by the number of their data server. */
    private static Map<String, String> disks(Cluster cluster) {
        Map<String, String> disks = new TreeMap<>();
        for (JsonNode disk :
                JsonMapper.shared().readTree(ask(cluster, "disk", "ls", "--json").ok().out())) {
            disks.put(disk.path("server").asString(), disk.path("data").asString());
        }
        return disks;
    }

    @Test
    void dataMovesToWhereThereIsRoomAndSurvivesALoss() throws Exception {
        try (Cluster cluster = up()) {
            try (Mount second = cluster.mount("second");
                    Load load = new Load(second)) {
                addServer(cluster);
                awaitSpread(cluster, 4);
                checkAll();
                writeAll();
                loseAndFind(cluster, "data-2");
                remove(cluster, "data-3");
                assertThat(load.isAlive()).as("the load beside it").isTrue();
            }
            Cluster.kill9(List.of(cluster.process("data-1").orElseThrow()));
            checkAll(); // also from the one that was away
            Shell.run("ls", "-lR", cluster.mnt().toString()).ok();
        }
    }

    /** What one of three had has no other place until there is a fourth. */
    @Test
    void aFourthDataServerTakesThePlaceOfOneThatIsLostForGood() throws Exception {
        try (Cluster cluster = up();
                Mount second = cluster.mount("second");
                Load load = new Load(second)) {
            String lost = idOf(cluster, "data-2");
            Cluster.kill9(List.of(cluster.process("data-2").orElseThrow()));
            writeAll();
            checkAll();
            Awaitility.await("status says what is missing, and what to do")
                    .atMost(PATIENCE)
                    .until(
                            () -> cluster.status().path("warnings").toString(),
                            w -> w.contains("data server " + lost) && w.contains("add"));
            assertThat(pgs(cluster, "degraded")).isPositive();
            ask(cluster, "set", "recovery.max_operations", "1").ok(); // so that it can be seen
            addServer(cluster);
            Awaitility.await("status says what is left, and for how long")
                    .atMost(PATIENCE)
                    .until(
                            () -> cluster.status().path("moving"),
                            m ->
                                    m.path("replicas_to_copy").asInt() > 0
                                            && m.path("bytes_to_copy").asLong() > 0
                                            && m.path("eta_seconds").asDouble() > 0);
            ask(cluster, "set", "recovery.max_operations", "0").ok();
            awaitSpread(cluster, 3);
            ask(cluster, "server", "remove", lost).ok();
            Awaitility.await("nothing is missing")
                    .atMost(PATIENCE)
                    .until(() -> cluster.status().path("warnings").isEmpty());
            checkAll();
            writeAll();
            assertThat(load.isAlive()).as("the load beside it").isTrue();
        }
    }

    private Cluster up() throws IOException {
        Cluster cluster = Cluster.temporary("--processes").layOut();
        cluster.configure(
                "mds-1",
                c ->
                        c.replace("[data_servers]", "[data_servers]\ndown_out_interval = \"5s\"")
                                .replace("[pool]", "[pool]\npg_count = 64"));
        cluster.up();
        for (int i = 0; i < FILES; i++) {
            files.add(new MarkedFile(cluster, cluster.mnt().resolve("f" + i)));
        }
        awaitSpread(cluster, 3);
        return cluster;
    }

    /** The number of the data server that runs there. */
    private static String idOf(Cluster cluster, String part) {
        return disks(cluster).entrySet().stream()
                .filter(d -> d.getValue().contains("/" + part + "/"))
                .findAny()
                .orElseThrow()
                .getKey();
    }

    private void loseAndFind(Cluster cluster, String part) {
        Cluster.kill9(List.of(cluster.process(part).orElseThrow()));
        writeAll();
        awaitSpread(cluster, 3);
        checkAll();
        writeAll();

        cluster.start(part, "dataserver");
        awaitSpread(cluster, 4);
        checkAll();
        writeAll();
        checkAll();
    }

    /** Drained, stopped and removed; what comes back with what it held is refused. */
    private void remove(Cluster cluster, String part) {
        String id = idOf(cluster, part);
        ask(cluster, "server", "drain", id).ok();
        awaitSpread(cluster, 3);
        ask(cluster, "server", "remove", id)
                .saysOneLine(1, "data server " + id + " is up: stop it first");

        ProcessHandle server = cluster.process(part).orElseThrow();
        Cluster.kill9(List.of(server));
        Awaitility.await("it is down and can be removed")
                .atMost(PATIENCE)
                .until(() -> ask(cluster, "server", "remove", id).exitCode() == 0);
        assertThat(disks(cluster)).hasSize(3).doesNotContainKey(id);
        checkAll();
        writeAll();

        cluster.start(part, "dataserver");
        Awaitility.await("it ends, refused")
                .atMost(PATIENCE)
                .until(() -> cluster.process(part).isEmpty());
        assertThat(cluster.logs()).contains("was removed from the cluster");
        assertThat(disks(cluster)).hasSize(3);
        checkAll();
    }
}
