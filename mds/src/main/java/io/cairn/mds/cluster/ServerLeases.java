package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.Server;
import io.cairn.common.time.NanoClock;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * When this leader last heard of each data server, and of which map. A server that has been silent
 * for longer than its lease can last is to be marked down in the map; from then on it serves
 * nobody, because its lease has ended.
 *
 * <p>Every server that the map says is up has a deadline, also one that was never heard of: it may
 * have registered with an earlier leader, or with this one at a moment when nothing could be
 * answered. Any thread: heartbeats are answered beside everything else; without clock or I/O.
 *
 * <p>Between the decision to mark a server down and its application lies a commit, which takes long
 * where the leader does not reach the others. A heartbeat that was answered in between would give
 * the server a lease that goes on after it is down: it is {@link #condemn condemned} meanwhile.
 */
public final class ServerLeases {
    /** A lease that a server counts on its own clock may end this much later on ours. */
    private static final double DRIFT = 1.02;

    private final long leaseNanos;
    private final Map<Integer, Known> servers = new ConcurrentHashMap<>();
    private final Set<Integer> condemned = new HashSet<>();

    /**
     * @param answeredNanos when a heartbeat was last answered: its lease ends within one lease
     *     after
     * @param confirmedEpoch nothing it admitted under an older map is unfinished
     */
    public record Known(long answeredNanos, long confirmedEpoch, Report report) {}

    /**
     * What a server says of itself, for the administrator.
     *
     * @param pgs whose primary is there; null if this leader has not heard of them, as of a server
     *     of an older release
     * @param scrub of those groups, and of the server's disks; null likewise
     * @param release of Cairn that it runs; empty if this leader has not heard of it, or it does
     *     not say
     */
    public record Report(
            List<DiskStatus> disks,
            @Nullable PgReport pgs,
            @Nullable ScrubReport scrub,
            String release) {
        /** Of a server that was not heard of yet. */
        public static final Report NONE = new Report(List.of(), null, null, "");
    }

    /**
     * @param leaseNanos of servers whose lease the map does not say
     */
    public ServerLeases(long leaseNanos) {
        this.leaseNanos = leaseNanos;
    }

    /**
     * On becoming leader.
     *
     * @param fromNanos until then an earlier leader may have answered any server
     */
    public synchronized void begin(ClusterMap map, long fromNanos) {
        servers.clear();
        condemned.clear();
        for (Server server : map.servers()) {
            servers.put(server.getId(), new Known(fromNanos, 0, Report.NONE));
        }
    }

    public synchronized void heard(int server, long nowNanos, long confirmedEpoch, Report report) {
        servers.put(server, new Known(nowNanos, confirmedEpoch, report));
    }

    /**
     * A heartbeat came: notes it, unless the server is condemned. What is noted is no earlier than
     * any decision that was made without it.
     *
     * @return whether the heartbeat may be answered with a lease
     */
    public synchronized boolean answer(
            int server, NanoClock clock, long confirmedEpoch, Report report) {
        if (condemned.contains(server)) {
            return false;
        }
        heard(server, clock.nanos(), confirmedEpoch, report);
        return true;
    }

    /** What disks were last said to be, by their ids. */
    public Map<Integer, DiskStatus> disks() {
        Map<Integer, DiskStatus> disks = new HashMap<>();
        servers.values().forEach(k -> k.report.disks().forEach(d -> disks.put(d.getDisk(), d)));
        return disks;
    }

    /** Disks that have blocks which wait for their repair, as was said last. */
    Set<Integer> waitingForRepair() {
        Set<Integer> waiting = new HashSet<>();
        for (Known known : servers.values()) {
            for (DiskStatus disk : known.report.disks()) {
                if (disk.getWaitingForRepair() > 0) {
                    waiting.add(disk.getDisk());
                }
            }
        }
        return waiting;
    }

    /** Whether a heartbeat was answered after that moment. */
    public boolean heardSince(int server, long nanos) {
        @Nullable Known known = servers.get(server);
        return known != null && known.answeredNanos - nanos > 0;
    }

    /**
     * The servers whose lease has ended. One that is up and was never heard of gets its deadline
     * with this call: nobody has answered it later than now.
     */
    public synchronized List<Integer> silent(ClusterMap map, long nowNanos) {
        List<Integer> silent = new ArrayList<>();
        for (Server server : map.servers()) {
            if (!server.getUp()) {
                continue;
            }
            @Nullable Known known = servers.get(server.getId());
            if (known == null) {
                heard(server.getId(), nowNanos, 0, Report.NONE);
            } else if (nowNanos - known.answeredNanos > (long) (leaseOf(server) * DRIFT)) {
                silent.add(server.getId());
            }
        }
        return silent;
    }

    /**
     * It is decided to mark the server down: until {@link #decided} no heartbeat of it may be
     * answered with a lease. False if that was so already.
     */
    public synchronized boolean condemn(int server) {
        return condemned.add(server);
    }

    /** Condemns those that are {@link #silent}, and says who was not condemned before. */
    synchronized List<Integer> condemnSilent(ClusterMap map, long nowNanos) {
        return silent(map, nowNanos).stream().filter(this::condemn).toList();
    }

    public synchronized boolean isCondemned(int server) {
        return condemned.contains(server);
    }

    /** The map says that it is down, or will not say so by this decision. */
    public synchronized void decided(int server) {
        condemned.remove(server);
    }

    /** As {@link #down(ClusterMap, int, long)} of several, in one change. */
    MapUpdate.@Nullable Builder down(ClusterMap base, List<Integer> ids, long decidedNanos) {
        MapUpdate.Builder all = MapUpdate.newBuilder();
        for (int id : ids) {
            MapUpdate.@Nullable Builder one = down(base, id, decidedNanos);
            if (one != null) {
                all.addAllServers(one.getServersList());
            }
        }
        return all.getServersCount() == 0 ? null : all;
    }

    /**
     * Marks a silent server down; null if it is, or was heard of since.
     *
     * @param decidedNanos when it was found silent
     */
    public MapUpdate.@Nullable Builder down(ClusterMap base, int id, long decidedNanos) {
        @Nullable Server server = base.server(id);
        if (server == null || !server.getUp() || heardSince(id, decidedNanos)) {
            return null;
        }
        return MapUpdate.newBuilder().addServers(server.toBuilder().setUp(false));
    }

    /** Nanoseconds that it was told, whatever this leader tells others. */
    public long leaseOf(Server server) {
        return server.getLeaseMillis() == 0
                ? leaseNanos
                : TimeUnit.MILLISECONDS.toNanos(server.getLeaseMillis());
    }

    /**
     * Whether nothing that was admitted before the map epoch can still be in flight: every server
     * has confirmed the epoch, or is down, its lease over.
     */
    public boolean allBeyond(ClusterMap map, long epoch) {
        for (Server server : map.servers()) {
            @Nullable Known known = servers.get(server.getId());
            if (server.getUp() && (known == null || known.confirmedEpoch < epoch)) {
                return false;
            }
        }
        return map.epoch() >= epoch;
    }

    /** A view: goes on with what is heard. */
    public Map<Integer, Known> all() {
        return Collections.unmodifiableMap(servers);
    }
}
