package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Load;
import io.cairn.system.support.MetadataWork;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Every member of the metadata service is replaced while an application works. */
@Tag("slow")
@Tag("part-7")
class MdsMembersTest {
    private static final Pattern CLUSTER_ID = Pattern.compile("cluster_id = \"(.*)\"");
    private static final int FAILURE = 1;
    private static final int UNREACHABLE = 4;

    @Test
    void membersAreReplacedRemovedAndAddedUnderLoad() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "1").up()) {
            Mount mount = cluster.mount("second");
            try (Load load = new Load(mount);
                    MetadataWork work = new MetadataWork(cluster.mnt().resolve("work"))) {
                String fourth = begin(cluster, 4, 2, 3);
                int leader = leader(cluster);
                assertThat(cairn(cluster, "mds", "replace", "" + leader, "4", fourth).ok().out())
                        .contains("member " + leader + " is replaced by member 4");
                awaitEnd(cluster, leader);
                assertThat(ids(cluster)).contains(4).doesNotContain(leader).hasSize(3);
                // Given again, as after being cut off, it has nothing to do.
                cairn(cluster, "mds", "replace", "" + leader, "4", fourth).ok();

                assertThat(cairn(cluster, "mds", "transfer-leader", "4").ok().out())
                        .contains("member 4 leads");
                assertThat(leader(cluster)).isEqualTo(4);

                int other = ids(cluster).getFirst();
                cairn(cluster, "mds", "remove", "" + other).ok();
                awaitEnd(cluster, other);
                String fifth = begin(cluster, 5, 4, ids(cluster).getFirst());
                cairn(cluster, "mds", "add", "5", fifth).ok();
                assertThat(ids(cluster)).contains(4, 5).hasSize(3);

                Shell.Result unknown = cairn(cluster, "mds", "remove", "77");
                assertThat(unknown.exitCode()).isEqualTo(FAILURE);
                assertThat(unknown.err()).contains("there is no member 77");

                int done = work.done();
                Awaitility.await("work goes on")
                        .atMost(Duration.ofMinutes(1))
                        .until(() -> work.failure() != null || work.done() > done + 100);
                assertThat(work.failure()).isNull();
                assertThat(load.isAlive()).isTrue();
                System.out.printf(
                        "MdsMembersTest: longest operation %.1f s%n",
                        work.longestSince(0).toMillis() / 1e3);
            }
        }
    }

    /** Starts a server that is to be added; returns its address. */
    private static String begin(Cluster cluster, int id, int... others) throws IOException {
        JsonNode present = members(cluster);
        Matcher clusterId =
                CLUSTER_ID.matcher(Files.readString(cluster.state().resolve("mds-1/config.toml")));
        assertThat(clusterId.find()).isTrue();
        String address = "127.0.0.1:" + Cluster.freePort();
        StringBuilder toml = new StringBuilder();
        toml.append("cluster_id = \"").append(clusterId.group(1)).append("\"\n");
        toml.append("member_id = ").append(id).append("\ndata_dir = \"state\"\n");
        member(toml, id, address, "127.0.0.1:" + Cluster.freePort());
        for (int other : others) {
            JsonNode known =
                    present.path("members")
                            .valueStream()
                            .filter(m -> m.path("id").asInt() == other)
                            .findFirst()
                            .orElseThrow();
            member(
                    toml,
                    other,
                    known.path("address").asString(),
                    known.path("raft_address").asString());
        }
        Path folder = Files.createDirectory(cluster.state().resolve("mds-" + id));
        Path config = Files.writeString(folder.resolve("config.toml"), toml);
        Cluster.cairn("mds", "--config", config.toString(), "--join", "--prepare").ok();
        cluster.start("mds-" + id, "mds");
        Awaitility.await("member " + id + " listens")
                .atMost(Duration.ofMinutes(1))
                .until(() -> Files.readString(folder.resolve("log")).contains("listens on"));
        return address;
    }

    private static void member(StringBuilder toml, int id, String address, String raftAddress) {
        toml.append("[[members]]\nid = ").append(id);
        toml.append("\naddress = \"").append(address);
        toml.append("\"\nraft_address = \"").append(raftAddress).append("\"\n");
    }

    private static void awaitEnd(Cluster cluster, int member) {
        Awaitility.await("the removed member stops")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.process("mds-" + member).isEmpty());
        try {
            assertThat(Files.readString(cluster.state().resolve("mds-" + member + "/log")))
                    .contains("member " + member + " was removed from the group");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Gives a command once somebody leads: the one before may have ended with an election. */
    private static Shell.Result cairn(Cluster cluster, String... arguments) {
        var _ = members(cluster);
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--dir", cluster.state().toString()));
        return Cluster.cairn(all);
    }

    /** Waits while no leader answers. */
    private static JsonNode members(Cluster cluster) {
        Shell.Result listed =
                Awaitility.await("a leader answers")
                        .pollInSameThread()
                        .atMost(Duration.ofMinutes(1))
                        .until(
                                () ->
                                        Cluster.cairn(
                                                "mds",
                                                "ls",
                                                "--json",
                                                "--dir",
                                                cluster.state().toString()),
                                result -> result.exitCode() != UNREACHABLE);
        return JsonMapper.shared().readTree(listed.ok().out());
    }

    private static List<Integer> ids(Cluster cluster) {
        return members(cluster)
                .path("members")
                .valueStream()
                .map(m -> m.path("id").asInt())
                .toList();
    }

    private static int leader(Cluster cluster) {
        return members(cluster)
                .path("members")
                .valueStream()
                .filter(m -> m.path("role").asString().equals("leader"))
                .map(m -> m.path("id").asInt())
                .findFirst()
                .orElseThrow();
    }
}
