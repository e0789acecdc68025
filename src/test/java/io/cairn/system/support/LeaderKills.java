package io.cairn.system.support;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/**
 * Kills whoever leads, waits for another leader, and starts the killed one again: of a cluster of
 * three members, each a process.
 */
public final class LeaderKills {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Cluster cluster;

    public LeaderKills(Cluster cluster) {
        this.cluster = cluster;
        awaitWhole();
    }

    /** Again and again while something else goes on. */
    public void during(Runnable work) {
        CompletableFuture<Void> working = CompletableFuture.runAsync(work);
        while (!working.isDone()) {
            kill();
            Awaitility.await().pollDelay(1, TimeUnit.SECONDS).atMost(PATIENCE).until(() -> true);
        }
        working.join();
    }

    private void kill() {
        String leader = "mds-" + leader();
        Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
        Awaitility.await("another leader")
                .ignoreExceptionsMatching(e -> true)
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .atMost(PATIENCE)
                .until(() -> leader() > 0);
        cluster.start(leader, "mds");
        awaitWhole();
    }

    private int leader() {
        return cluster.status().path("leader").asInt();
    }

    private void awaitWhole() {
        Awaitility.await("all members are back")
                .ignoreExceptionsMatching(e -> true) // no leader answers for a moment
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .atMost(PATIENCE)
                .until(cluster::isWhole);
    }
}
