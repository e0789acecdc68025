package io.cairn.client.data;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * Says in the log that a data server does not answer for a placement group, and when it does again:
 * who looks for the reason why a program hangs finds it there. One line for all PGs of a server,
 * and no more than one of these a minute, however often it comes and goes. One thread; the clock is
 * the caller's.
 */
final class StuckLog {
    private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final IntFunction<String> serverOf;
    private final Consumer<String> warn;
    private final Consumer<String> info;

    /** The server that each stuck PG waits for. */
    private final Map<Integer, String> waiting = new HashMap<>();

    /** Of servers that are said not to answer: since when they do not. */
    private final Map<String, Long> said = new HashMap<>();

    private final Map<String, Long> saidAt = new HashMap<>();

    /**
     * @param serverOf address of a PG's primary
     */
    StuckLog(IntFunction<String> serverOf, Consumer<String> warn, Consumer<String> info) {
        this.serverOf = serverOf;
        this.warn = warn;
        this.info = info;
    }

    /**
     * To be called a few times a second.
     *
     * @param stuckSince the PGs that are stuck now, and since when they have not answered
     */
    void look(Map<Integer, Long> stuckSince, long now) {
        waiting.keySet().retainAll(stuckSince.keySet());
        stuckSince.forEach((pg, since) -> {
            String server = waiting.computeIfAbsent(pg, p -> serverOf.apply(p));
            if (!said.containsKey(server) && maySay(server, now)) {
                said.put(server, since);
                saidAt.put(server, now);
                warn.accept(
                        "Data server %s has not answered for placement group %x for %d s: programs that read or write files there wait, and what they asked for is tried again until it answers"
                                .formatted(server, pg, seconds(now - since)));
            }
        });
        said.entrySet()
                .removeIf(server -> {
                    boolean answers = !waiting.containsValue(server.getKey());
                    if (answers) {
                        info.accept(
                                "Data server %s answers again after %d s: what waited for it goes on"
                                        .formatted(
                                                server.getKey(), seconds(now - server.getValue())));
                    }
                    return answers;
                });
        saidAt.values().removeIf(at -> now - at >= PAUSE_NANOS);
    }

    private boolean maySay(String server, long now) {
        Long before = saidAt.get(server);
        return before == null || now - before >= PAUSE_NANOS;
    }

    private static long seconds(long nanos) {
        return TimeUnit.NANOSECONDS.toSeconds(nanos);
    }
}
