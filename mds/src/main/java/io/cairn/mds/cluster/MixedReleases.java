package io.cairn.mds.cluster;

import io.cairn.common.time.NanoClock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Warns of servers of different releases once that has lasted longer than an upgrade may take: one
 * of them was forgotten, or its upgrade failed. While servers are upgraded one after the other all
 * is well, and who waits for that between two of them is not held up. Mounts do not count: they are
 * upgraded when their hosts are.
 *
 * <p>Each leader counts from when it first sees different ones. The control thread only, except for
 * {@link #warnings}.
 */
public final class MixedReleases {
    private static final long LOOK_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<Map<String, String>> releases;
    private final NanoClock clock;
    private final long patienceNanos;
    private boolean mixed;
    private long sinceNanos;
    private long lookedNanos;
    private volatile List<String> warnings = List.of();

    /**
     * @param releases by server, such as {@code mds-1}; empty where it is not known
     * @param patienceNanos how long servers may differ without a warning
     */
    public MixedReleases(
            Supplier<Map<String, String>> releases, NanoClock clock, long patienceNanos) {
        this.releases = releases;
        this.clock = clock;
        this.patienceNanos = patienceNanos;
    }

    /** On becoming leader, and when that is over. */
    public void reset() {
        mixed = false;
        warnings = List.of();
        lookedNanos = clock.nanos() - LOOK_AGAIN_NANOS;
    }

    /** Looks once a second at most. */
    public void tick() {
        long now = clock.nanos();
        if (now - lookedNanos < LOOK_AGAIN_NANOS) {
            return;
        }
        lookedNanos = now;
        Map<String, List<String>> servers = new TreeMap<>();
        releases.get()
                .forEach((server, release) -> {
                    if (!release.isEmpty()) {
                        servers.computeIfAbsent(release, r -> new ArrayList<>()).add(server);
                    }
                });
        if (servers.size() > 1 && !mixed) {
            sinceNanos = now;
        }
        mixed = servers.size() > 1;
        warnings =
                mixed && now - sinceNanos >= patienceNanos
                        ? List.of(warning(servers, now - sinceNanos))
                        : List.of();
    }

    /** The release that most servers run first. */
    private static String warning(Map<String, List<String>> servers, long nanos) {
        List<String> parts =
                servers.entrySet().stream()
                        .sorted(
                                Comparator.comparing((Map.Entry<String, List<String>> e) ->
                                        -e.getValue().size()))
                        .map(e -> e.getKey() + " on " + String.join(", ", e.getValue()))
                        .toList();
        return "servers have run different releases for %d h: %s: upgrade those that were left behind"
                .formatted(TimeUnit.NANOSECONDS.toHours(nanos), String.join("; ", parts));
    }

    /** Any thread. */
    public List<String> warnings() {
        return warnings;
    }
}
