package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Load;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A data server gets another disk while it serves: it is made, has its share soon, and is there
 * after a restart.
 */
@Tag("slow")
@Tag("part-3")
class AddedDiskTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** Placement groups of the disk, all of them in sync; -1 if not all are, or it is not there. */
    private static int replicas(Cluster cluster, int disk) {
        for (JsonNode server : cluster.status().path("data_servers")) {
            for (JsonNode d : server.path("disks")) {
                if (d.path("id").asInt() == disk) {
                    int count = d.path("replicas").asInt();
                    return d.path("in_sync").asInt() == count ? count : -1;
                }
            }
        }
        return -1;
    }

    /** The number of the data server that runs there: they register in any order. */
    private static String idOf(Cluster cluster, String part) {
        for (JsonNode server : cluster.status().path("data_servers")) {
            if (server.at("/disks/0/data").asString().contains("/" + part + "/")) {
                return server.path("id").asString();
            }
        }
        throw new AssertionError("no data server is " + part);
    }

    private static JsonNode add(Cluster cluster, String server) {
        Shell.Result result =
                Cluster.cairn(List.of("disk", "add", server, "--json", "--mds", cluster.mds()));
        return JsonMapper.shared().readTree(result.ok().out());
    }

    /** A table like that of the only disk, in a directory of its own. */
    private static String another(String config, Path home) {
        String table = config.substring(config.indexOf("[[disk]]"));
        int next = table.indexOf("\n[", 1);
        return (next < 0 ? table : table.substring(0, next))
                .replaceAll("\"[^\"]*/(data|wal|index)\"", "\"" + home + "/$1\"");
    }

    @Test
    void aDiskIsAddedWhileTheServerServes() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes").layOut()) {
            cluster.up();
            Path home = Files.createDirectory(cluster.base().resolve("more"));
            String server = idOf(cluster, "data-1");
            assertThat(add(cluster, server)).isEmpty();
            try (Mount second = cluster.mount("second");
                    Load load = new Load(second)) {
                cluster.configure("data-1", c -> c + "\n" + another(c, home));
                JsonNode added = add(cluster, server).get(0);
                assertThat(added.path("data").stringValue()).isEqualTo(home + "/data");
                int disk = added.path("id").asInt();
                Awaitility.await("it has its share")
                        .atMost(PATIENCE)
                        .until(() -> replicas(cluster, disk) > 0);
                assertThat(add(cluster, server)).as("nothing is new").isEmpty();
                Cluster.kill9(List.of(cluster.process("data-1").orElseThrow()));
                cluster.start("data-1", "dataserver");
                Awaitility.await("it is back, with all that it had")
                        .atMost(PATIENCE)
                        .until(() -> cluster.isWhole() && replicas(cluster, disk) > 0);
                assertThat(load.isAlive()).as("the load beside it").isTrue();
            }
        }
    }
}
