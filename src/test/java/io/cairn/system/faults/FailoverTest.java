package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.MetadataWork;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Stall;
import io.cairn.system.support.VirtualNetwork;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * How long an application waits when the leading metadata server is killed, suspended or cut off
 * from everybody: {@code -Dcairn.test.failover.rounds=30 -Dcairn.test.failover.members=3,5}. It
 * prints the distribution; no operation may fail. Each part is in a network namespace of its own
 * where the leader is cut off; skipped where those cannot be made.
 */
@Tag("slow")
@Tag("part-2")
class FailoverTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.failover.rounds", 2);
    private static final String MEMBERS = System.getProperty("cairn.test.failover.members", "3");
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Operations after which the new leader is taken to serve as the old one did. */
    private static final int ENOUGH = 50;

    /** How long until the work has gone on after a leader was hurt; the leader is mended then. */
    private interface Fault {
        Duration stall(Cluster cluster, String leader, MetadataWork work);
    }

    static IntStream members() {
        return Stream.of(MEMBERS.split(",")).mapToInt(Integer::parseInt);
    }

    @ParameterizedTest
    @MethodSource("members")
    void ofAKilledLeader(int members) throws Exception {
        try (Cluster cluster = processes(members).up()) {
            rounds(cluster, cluster.mnt(), members, "killed", FailoverTest::killed);
        }
    }

    private static Duration killed(Cluster cluster, String leader, MetadataWork work) {
        int before = work.done();
        Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
        Duration stall = stall(work, before);
        cluster.start(leader, "mds");
        return stall;
    }

    @ParameterizedTest
    @MethodSource("members")
    void ofASuspendedLeader(int members) throws Exception {
        try (Cluster cluster = processes(members).up()) {
            rounds(cluster, cluster.mnt(), members, "suspended", FailoverTest::suspended);
        }
    }

    private static Duration suspended(Cluster cluster, String leader, MetadataWork work) {
        int before = work.done();
        try (Stall _ = new Stall(cluster, leader)) {
            return stall(work, before);
        }
    }

    @ParameterizedTest
    @MethodSource("members")
    void ofALeaderThatIsCutOff(int members) throws Exception {
        VirtualNetwork.Attempt attempt = VirtualNetwork.make();
        assumeThat(attempt.network()).as(attempt.reason()).isNotNull();
        try (VirtualNetwork network = Objects.requireNonNull(attempt.network());
                Cluster cluster = processes(members).layOut()) {
            cluster.join(network);
            List<String> hosts = new ArrayList<>(cluster.parts());
            hosts.add("m");
            for (String part : cluster.parts()) {
                if (part.startsWith("mds-")) {
                    cluster.start(part, "mds", "--new-cluster");
                } else {
                    cluster.start(part, "dataserver");
                }
            }
            Awaitility.await("the cluster serves")
                    .ignoreExceptionsMatching(e -> true) // nobody answers yet
                    .ignoreExceptionsInstanceOf(AssertionError.class)
                    .atMost(PATIENCE)
                    .until(() -> cluster.status().at("/pgs/active").asInt() > 0);
            try (Mount mount = cluster.mount("m")) {
                rounds(
                        cluster,
                        mount.mnt(),
                        members,
                        "cut off",
                        (_, leader, work) -> cutOff(network, hosts, leader, work));
            }
        }
    }

    private static Duration cutOff(
            VirtualNetwork network, List<String> hosts, String leader, MetadataWork work) {
        int before = work.done();
        for (String host : hosts) {
            if (!host.equals(leader)) {
                network.cut(leader, host);
                network.cut(host, leader);
            }
        }
        try {
            return stall(work, before);
        } finally {
            network.heal();
        }
    }

    private static Cluster processes(int members) {
        return Cluster.temporary("--processes", "--mds", "" + members, "--data", "1");
    }

    private static void rounds(Cluster cluster, Path mount, int members, String what, Fault fault)
            throws IOException, InterruptedException {
        List<Duration> stalls = new ArrayList<>();
        try (MetadataWork work = new MetadataWork(mount.resolve("work"))) {
            for (int round = 0; round < ROUNDS; round++) {
                awaitWhole(cluster, members);
                awaitMore(work, work.done() + ENOUGH);
                String leader = "mds-" + cluster.status().path("leader").asInt();
                stalls.add(fault.stall(cluster, leader, work));
            }
            assertThat(work.failure()).isNull();
        }
        Collections.sort(stalls);
        System.out.printf(
                "FailoverTest: leader of %d %s %d times: median %.2f s, longest %.2f s; all %s%n",
                members,
                what,
                ROUNDS,
                seconds(stalls.get(stalls.size() / 2)),
                seconds(stalls.getLast()),
                stalls.stream().map(s -> "%.2f".formatted(seconds(s))).toList());
    }

    /** The longest operation until the work goes on. */
    private static Duration stall(MetadataWork work, int before) {
        awaitMore(work, before + ENOUGH);
        return work.longestSince(before);
    }

    private static double seconds(Duration duration) {
        return duration.toMillis() / 1e3;
    }

    private static void awaitMore(MetadataWork work, int done) {
        Awaitility.await("the application goes on")
                .atMost(PATIENCE)
                .until(() -> work.failure() != null || work.done() >= done);
        assertThat(work.failure()).isNull();
    }

    private static void awaitWhole(Cluster cluster, int members) {
        Awaitility.await("all members are back")
                .ignoreExceptionsMatching(e -> true) // no leader answers for a moment
                .atMost(PATIENCE)
                .until(() ->
                        cluster.status()
                                        .path("mds")
                                        .valueStream()
                                        .filter(m ->
                                                m.path("leader").asBoolean()
                                                        || (m.path("heard").asBoolean()
                                                                && m.path("since_heard_millis")
                                                                                .asInt()
                                                                        < 1000))
                                        .count()
                                == members);
    }
}
