package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.MetadataWork;
import io.cairn.system.support.Stall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * How long an application waits when the leading metadata server is killed or suspended: {@code
 * -Dcairn.test.failover.rounds=30 -Dcairn.test.failover.members=3,5}. It prints the distribution;
 * no operation may fail.
 */
@Tag("slow")
class FailoverTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.failover.rounds", 2);
    private static final String MEMBERS = System.getProperty("cairn.test.failover.members", "3");
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Operations after which the new leader is taken to serve as the old one did. */
    private static final int ENOUGH = 50;

    private enum Fault {
        KILL,
        SUSPEND
    }

    static Stream<Arguments> faults() {
        return Stream.of(MEMBERS.split(","))
                .flatMap(members ->
                        Stream.of(Fault.values())
                                .map(f -> Arguments.of(Integer.parseInt(members), f)));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void anApplicationWaitsUntilAnotherMemberLeads(int members, Fault fault) throws Exception {
        List<Duration> stalls = new ArrayList<>();
        try (Cluster cluster =
                Cluster.temporary("--processes", "--mds", "" + members, "--data", "1").up()) {
            try (MetadataWork work = new MetadataWork(cluster.mnt().resolve("work"))) {
                for (int round = 0; round < ROUNDS; round++) {
                    awaitWhole(cluster, members);
                    awaitMore(work, work.done() + ENOUGH);
                    String leader = "mds-" + cluster.status().path("leader").asInt();
                    int before = work.done();
                    switch (fault) {
                        case KILL -> {
                            Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
                            awaitMore(work, before + ENOUGH);
                            stalls.add(work.longestSince(before));
                            cluster.start(leader, "mds");
                        }
                        case SUSPEND -> {
                            try (Stall _ = new Stall(cluster, leader)) {
                                awaitMore(work, before + ENOUGH);
                                stalls.add(work.longestSince(before));
                            }
                        }
                    }
                }
                assertThat(work.failure()).isNull();
            }
        }
        Collections.sort(stalls);
        System.out.printf(
                "FailoverTest: %d members, %s, %d times: median %.2f s, longest %.2f s; all %s%n",
                members,
                fault,
                ROUNDS,
                seconds(stalls.get(stalls.size() / 2)),
                seconds(stalls.getLast()),
                stalls.stream().map(s -> "%.2f".formatted(seconds(s))).toList());
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
