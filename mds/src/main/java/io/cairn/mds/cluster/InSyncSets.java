package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Who leaves and who joins the in-sync sets of placement groups. Each change of a set begins a new
 * epoch of its group, and nobody leaves unless a member stays that surely serves: this leader has
 * heard of its server lately, its disk is not released, and its process went on.
 *
 * <ul>
 *   <li>A backup leaves when its server has been silent for {@link #SILENCE_NANOS}, if the server
 *       has confirmed the epoch in which it is a backup: before, it may hold itself for the primary
 *       and serve reads by its lease.
 *   <li>A primary, and whoever may hold itself for one, leaves once its server is marked down: then
 *       its lease is over.
 *   <li>A backup leaves, if its server has confirmed the epoch, when the primary tells that it says
 *       nothing to it, as where the two are cut off from each other or a disk hangs. Where too few
 *       would stay so, and there would be enough without the primary, it is rather the primary that
 *       is cut off: another member becomes the primary.
 *   <li>A disk that is slow ({@link SlowDisks}) leaves, one of a group at a time, where {@code
 *       min_size} others surely serve. As primary it first becomes a backup, and leaves once its
 *       server has confirmed that.
 *   <li>A disk that its server reports as released, or does not report among its disks, leaves at
 *       once, as primary too: nothing on it is served or acknowledged any more.
 *   <li>A server that was started anew leaves the sets in which another member's process went on,
 *       as soon as that was heard of since. As primary it first becomes a backup, and leaves once
 *       its server has confirmed that: the new process serves reads by its lease as any other.
 *       Where all were started anew, all stay, and for {@link #RESTART_WAIT_NANOS} nobody is taken
 *       out who is still missing: the longest history counts, and disks have been known to forget
 *       what they had called durable.
 *   <li>A learner joins when the primary asks for it and the learner surely serves. A request that
 *       is refused begins a new epoch too: so the primary knows that it will not be granted later.
 *   <li>Once all replicas of a group are in sync, its first replica becomes the primary, and then
 *       members that are no replicas leave: those whose server has confirmed an epoch in which they
 *       are not the primary.
 *   <li>While a group is made by the split of another one, or goes back into it, both have the same
 *       members in sync: who leaves the one, leaves the other, and nobody joins either ({@link
 *       PgSplits}, {@link PgMerges}).
 *   <li>Nobody leaves for being silent while an administrator holds that back ({@link Held}).
 *   <li>Nobody leaves while a server that has placement groups does not recover learners: as
 *       primary it could never bring back who left.
 * </ul>
 *
 * <p>One thread; without clock or I/O. What it remembers is the leader's own: a new leader that has
 * not heard of a restart leaves the server where it is, which is safe. The changes are made from
 * any newer map again, when they could not be made from the one they were made for.
 */
public final class InSyncSets {
    /** With a tick of the leader and a commit it is out within 2 s. */
    static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(1800);

    static final long RESTART_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A primary tells it again sooner, while it is so. */
    static final long TOLD_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Groups whose primary moves back at once: each of them pauses for some round trips. */
    static final int MOVES = 16;

    private final ServerLeases servers;
    private final BooleanSupplier noDown;

    /** When the process of a member was started anew, until it has left or the wait is over. */
    private final Map<Member, Long> restarts = new HashMap<>();

    private long begunNanos;
    private @Nullable Situation quiet;
    private long settledEpoch;

    /** What primaries have told of members that say nothing. */
    private final Map<Member, Told> told = new HashMap<>();

    private record Member(int pg, int disk) {}

    private record Told(long pgEpoch, long nanos) {}

    /**
     * All that decides who leaves, while no restart is open.
     *
     * @param unsure servers that are up and do not surely serve, or have a slow disk, with the
     *     epoch they have confirmed
     */
    private record Situation(
            long mapEpoch, Map<Integer, Long> unsure, Set<Integer> released, boolean noDown) {}

    /**
     * A change of the map.
     *
     * @param summary for the log
     */
    public record Change(MapUpdate.Builder update, String summary) {}

    /**
     * @param noDown whether nobody leaves for being silent, as it is whenever it is asked
     */
    public InSyncSets(ServerLeases servers, BooleanSupplier noDown) {
        this.servers = servers;
        this.noDown = noDown;
    }

    /**
     * On becoming leader.
     *
     * @param fromNanos when it begins to hear of servers
     */
    public void begin(long fromNanos) {
        begunNanos = fromNanos;
        restarts.clear();
        told.clear();
        quiet = null;
        settledEpoch = 0;
    }

    /** A server has registered with a new process, and this map has it. */
    public void restarted(ClusterMap map, int server, long nowNanos) {
        restarted(map, Set.of(server), nowNanos);
    }

    /** Likewise, several. */
    void restarted(ClusterMap map, Set<Integer> registered, long nowNanos) {
        for (PlacementGroup group : map.pgs()) {
            for (int disk : group.getInSyncList()) {
                @Nullable Server owner = map.serverOfDisk(disk);
                if (owner != null && registered.contains(owner.getId())) {
                    restarts.put(new Member(group.getPg(), disk), nowNanos);
                }
            }
        }
    }

    /** The primary of the group in this epoch waits for the member, which says nothing. */
    public void told(int pg, long pgEpoch, int disk, long nowNanos) {
        told.put(new Member(pg, disk), new Told(pgEpoch, nowNanos));
    }

    // ---- leaving ------------------------------------------------------------------------------

    /** Whether somebody is to leave. Looks at the groups only if something has changed since. */
    public boolean isLeaving(ClusterMap map, long nowNanos) {
        forgetRestarts(map, nowNanos);
        told.values().removeIf(t -> nowNanos - t.nanos > TOLD_NANOS);
        boolean open = !restarts.isEmpty() || !told.isEmpty();
        Situation now = situation(map, nowNanos);
        if (!open && now.equals(quiet)) {
            return false;
        }
        boolean leaving = leaving(map, nowNanos) != null;
        quiet = leaving || open ? null : now;
        return leaving;
    }

    /**
     * Those of members that have left; and all of a group at once when the wait is over for one:
     * else it would count as gone on, and the others would leave in its favour.
     */
    private void forgetRestarts(ClusterMap map, long nowNanos) {
        restarts.keySet().removeIf(member -> !isMember(map, member));
        Set<Integer> over = new HashSet<>();
        restarts.forEach((member, nanos) -> {
            if (nowNanos - nanos > RESTART_WAIT_NANOS) {
                over.add(member.pg);
            }
        });
        restarts.keySet().removeIf(member -> over.contains(member.pg));
    }

    private static boolean isMember(ClusterMap map, Member member) {
        @Nullable PlacementGroup group = map.pg(member.pg);
        return group != null && group.getInSyncList().contains(member.disk);
    }

    private Situation situation(ClusterMap map, long nowNanos) {
        Set<Integer> withSlow = new HashSet<>();
        map.disks().stream().filter(Disk::getSlow).forEach(d -> withSlow.add(d.getServer()));
        Map<Integer, Long> unsure = new HashMap<>();
        for (Server server : map.servers()) {
            if (server.getUp()
                    && (withSlow.contains(server.getId()) || !serves(server, nowNanos))) {
                unsure.put(server.getId(), confirmedEpoch(server));
            }
        }
        Set<Integer> released = new HashSet<>();
        for (Disk disk : map.disks()) {
            if (isReleased(map, disk.getId())) {
                released.add(disk.getId());
            }
        }
        return new Situation(map.epoch(), unsure, released, noDown.getAsBoolean());
    }

    /** Takes out who is to leave; null if nobody is. */
    public @Nullable Change leaving(ClusterMap base, long nowNanos) {
        forgetRestarts(base, nowNanos);
        if (isAllWell(base, nowNanos)) {
            return null;
        }
        MapUpdate.Builder update = MapUpdate.newBuilder();
        Map<String, Integer> left = new TreeMap<>();
        boolean recovers = true;
        for (PlacementGroup group : base.pgs()) {
            if (ClusterMap.isTiedToParent(group)) {
                continue; // with the one that it is made of, or goes back into
            }
            @Nullable PlacementGroup child = base.tiedTo(group.getPg());
            recovers &= group.getReplicasList().stream().allMatch(d -> recovers(base, d));
            Map<Integer, String> leave = leaving(base, group, nowNanos);
            if (leave.isEmpty() && child != null) {
                leave.putAll(leaving(base, child, nowNanos));
            }
            List<Integer> silent =
                    leave.isEmpty() ? silent(base, group, child, nowNanos) : List.of();
            List<Integer> stay = new ArrayList<>(group.getInSyncList());
            stay.removeAll(leave.keySet());
            int needed = minSize(base, group);
            if (!silent.isEmpty() && stay.size() - silent.size() >= needed) {
                silent.removeIf(d -> !isConfirmed(base, group, d));
                silent.forEach(d -> leave.put(d, " (says nothing to the primary)"));
                stay.removeAll(silent);
            } else if (!silent.isEmpty() && stay.size() > needed) {
                int primary = stay.removeFirst();
                stay.sort(Comparator.comparing(d -> !serves(base, d, nowNanos)));
                stay.add(primary);
                leave.put(primary, " (no primary any more: nobody answers it)");
            }
            if (leave.isEmpty()) {
                startedAnew(base, group, stay, leave, nowNanos);
            }
            if (leave.isEmpty()) {
                slow(base, group, stay, leave, nowNanos);
            }
            // No member is left if the child had others than its parent, which no map should say.
            if (!leave.isEmpty() && !stay.isEmpty()) {
                update.addPgs(inSync(group, stay, base));
                if (child != null) {
                    update.addPgs(inSync(child, stay, base));
                }
                leave.forEach((disk, why) -> left.merge(name(base, disk) + why, 1, Integer::sum));
            }
        }
        return recovers && update.getPgsCount() > 0
                ? new Change(update, "left in-sync sets: " + groups(left))
                : null;
    }

    /**
     * Whether all disks surely serve and none is slow: then nobody leaves, and no group need be
     * looked at, of which there are many more.
     */
    private boolean isAllWell(ClusterMap base, long nowNanos) {
        return restarts.isEmpty()
                && told.isEmpty()
                && base.disks().stream()
                        .allMatch(d -> !d.getSlow() && serves(base, d.getId(), nowNanos));
    }

    /** Backups of which the primary, which serves, has told that they say nothing to it. */
    private List<Integer> silent(
            ClusterMap base, PlacementGroup group, @Nullable PlacementGroup child, long nowNanos) {
        List<Integer> silent = new ArrayList<>();
        if (noDown.getAsBoolean()
                || told.isEmpty()
                || !serves(base, ClusterMap.primaryOf(group), nowNanos)) {
            return silent;
        }
        for (int disk : group.getInSyncList()) {
            boolean fresh =
                    isToldOf(group, disk, nowNanos)
                            || (child != null && isToldOf(child, disk, nowNanos));
            if (fresh && disk != ClusterMap.primaryOf(group)) {
                silent.add(disk);
            }
        }
        return silent;
    }

    private boolean isToldOf(PlacementGroup group, int disk, long nowNanos) {
        @Nullable Told of = told.get(new Member(group.getPg(), disk));
        return of != null && of.pgEpoch == group.getEpoch() && nowNanos - of.nanos <= TOLD_NANOS;
    }

    /**
     * @param stay in which order; a primary that was started anew gives way to who went on
     * @param leave gets the primary, and why
     */
    private void startedAnew(
            ClusterMap base,
            PlacementGroup group,
            List<Integer> stay,
            Map<Integer, String> leave,
            long nowNanos) {
        int primary = stay.getFirst();
        if (!wasStartedAnew(group, primary)) {
            return;
        }
        List<Integer> sure = sure(base, group, nowNanos);
        if (isToLeaveSinceStart(base, group, primary, sure)) {
            leads(sure.getFirst(), stay);
            leave.put(primary, " (no primary any more: started anew)");
        }
    }

    /** The first of them is the primary. */
    private static void leads(Integer disk, List<Integer> stay) {
        stay.remove(disk);
        stay.addFirst(disk);
    }

    private boolean isToLeaveSinceStart(
            ClusterMap base, PlacementGroup group, int disk, List<Integer> sure) {
        @Nullable Long restart = restarts.get(new Member(group.getPg(), disk));
        return restart != null && isHeardSince(base, sure, restart);
    }

    /**
     * @param stay in which order; what is slow is moved to its end, or taken out
     * @param leave gets what is, and why
     */
    private void slow(
            ClusterMap base,
            PlacementGroup group,
            List<Integer> stay,
            Map<Integer, String> leave,
            long nowNanos) {
        if (noDown.getAsBoolean() || stay.stream().noneMatch(d -> isSlow(base, d))) {
            return;
        }
        List<Integer> well =
                stay.stream()
                        .filter(d -> !isSlow(base, d) && isSure(base, group, d, nowNanos))
                        .toList();
        int primary = stay.getFirst();
        if (isSlow(base, primary) && !well.isEmpty()) {
            leads(well.getFirst(), stay);
            leave.put(primary, " (no primary any more: it is slow)");
        } else if (well.size() >= minSize(base, group)) {
            stay.stream()
                    .filter(d -> isSlow(base, d) && isConfirmed(base, group, d))
                    .findFirst()
                    .ifPresent(d -> {
                        stay.remove(d);
                        leave.put(d, " (slow)");
                    });
        }
    }

    static boolean isSlow(ClusterMap map, int disk) {
        @Nullable Disk known = map.disk(disk);
        return known != null && known.getSlow();
    }

    private static int minSize(ClusterMap base, PlacementGroup group) {
        @Nullable Pool pool = base.pool(PgHash.poolOf(group.getPg()));
        return Math.max(1, pool == null ? 1 : pool.getMinSize());
    }

    private boolean isConfirmed(ClusterMap base, PlacementGroup group, int disk) {
        @Nullable Server server = base.serverOfDisk(disk);
        return server == null || confirmedEpoch(server) >= group.getEpoch();
    }

    private static boolean recovers(ClusterMap map, int disk) {
        @Nullable Server server = map.serverOfDisk(disk);
        return server == null || server.getRecovers();
    }

    /** Those that leave, and why. */
    private Map<Integer, String> leaving(ClusterMap base, PlacementGroup group, long nowNanos) {
        List<Integer> sure = sure(base, group, nowNanos);
        Map<Integer, String> leave = new HashMap<>();
        if (sure.isEmpty() || sure.size() == group.getInSyncCount()) {
            return leave;
        }
        for (int disk : group.getInSyncList()) {
            @Nullable String why =
                    sure.contains(disk) ? null : why(base, group, disk, sure, nowNanos);
            if (why != null) {
                leave.put(disk, why);
            }
        }
        return leave;
    }

    /** Why the member leaves, null if it does not. */
    private @Nullable String why(
            ClusterMap base, PlacementGroup group, int disk, List<Integer> sure, long nowNanos) {
        @Nullable Server server = base.serverOfDisk(disk);
        if (server == null || !server.getUp()) {
            return " (down)";
        }
        if (isReleased(base, disk)) {
            return " (out of service)";
        }
        boolean mayBePrimary =
                disk == ClusterMap.primaryOf(group) || !isConfirmed(base, group, disk);
        if (mayBePrimary) {
            return null;
        }
        if (isToLeaveSinceStart(base, group, disk, sure)) {
            return " (started anew)";
        }
        return !noDown.getAsBoolean() && isSilent(server, nowNanos) ? " (silent)" : null;
    }

    private List<Integer> sure(ClusterMap base, PlacementGroup group, long nowNanos) {
        return group.getInSyncList().stream()
                .filter(d -> isSure(base, group, d, nowNanos))
                .toList();
    }

    /** And is not known to stay, nor has left. */
    private boolean wasStartedAnew(PlacementGroup group, int disk) {
        return restarts.containsKey(new Member(group.getPg(), disk));
    }

    private boolean isHeardSince(ClusterMap base, List<Integer> disks, long nanos) {
        for (int disk : disks) {
            @Nullable Server server = base.serverOfDisk(disk);
            if (server != null && servers.heardSince(server.getId(), nanos)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the disk serves, and is not about to leave the group since it was started anew. */
    boolean isSure(ClusterMap base, PlacementGroup group, int disk, long nowNanos) {
        return serves(base, disk, nowNanos) && !wasStartedAnew(group, disk);
    }

    /** Whether this leader knows that the disk serves. */
    boolean serves(ClusterMap base, int disk, long nowNanos) {
        @Nullable Server server = base.serverOfDisk(disk);
        return server != null && serves(server, nowNanos) && !isReleased(base, disk);
    }

    private boolean serves(Server server, long nowNanos) {
        return server.getUp()
                && !isSilent(server, nowNanos)
                && servers.heardSince(server.getId(), begunNanos);
    }

    private boolean isSilent(Server server, long nowNanos) {
        ServerLeases.@Nullable Known known = servers.all().get(server.getId());
        return known == null || nowNanos - known.answeredNanos() > SILENCE_NANOS;
    }

    private long confirmedEpoch(Server server) {
        ServerLeases.@Nullable Known known = servers.all().get(server.getId());
        return known == null ? 0 : known.confirmedEpoch();
    }

    /** Whether its server, which is up, serves and acknowledges nothing on it. */
    boolean isReleased(ClusterMap base, int disk) {
        @Nullable Server server = base.serverOfDisk(disk);
        ServerLeases.@Nullable Known known =
                server == null ? null : servers.all().get(server.getId());
        if (known == null) {
            return false;
        }
        for (DiskStatus status : known.report().disks()) {
            if (status.getDisk() == disk) {
                return status.getReleased();
            }
        }
        return !known.report().disks().isEmpty(); // its server did not open it
    }

    // ---- joining ------------------------------------------------------------------------------

    /**
     * Lets learners join that have everything acknowledged in this epoch of their groups; null if
     * another epoch of each has begun.
     */
    public @Nullable Change joining(ClusterMap base, List<JoinPgRequest> wanted, long nowNanos) {
        Map<Integer, Set<Integer>> learners = new TreeMap<>();
        for (JoinPgRequest join : wanted) {
            @Nullable PlacementGroup group = base.pg(join.getPg());
            if (group != null
                    && group.getEpoch() == join.getPgEpoch()
                    && group.getReplicasList().contains(join.getDisk())
                    && !group.getInSyncList().contains(join.getDisk())) {
                learners.computeIfAbsent(join.getPg(), _ -> new HashSet<>()).add(join.getDisk());
            }
        }
        MapUpdate.Builder update = MapUpdate.newBuilder();
        Map<String, Integer> joined = new TreeMap<>();
        for (Map.Entry<Integer, Set<Integer>> of : learners.entrySet()) {
            @Nullable PlacementGroup group = base.pg(of.getKey());
            if (group == null) {
                continue;
            }
            List<Integer> members = new ArrayList<>(group.getInSyncList());
            for (int disk : of.getValue()) {
                restarts.remove(new Member(group.getPg(), disk)); // it has left since
                boolean serves =
                        serves(base, disk, nowNanos)
                                && !base.isTied(group)
                                && !(isSlow(base, disk) && members.size() >= minSize(base, group));
                if (serves) {
                    members.add(disk);
                }
                joined.merge(name(base, disk) + (serves ? "" : " (refused)"), 1, Integer::sum);
            }
            update.addPgs(inSync(group, members, base));
        }
        return update.getPgsCount() == 0
                ? null
                : new Change(update, "joined in-sync sets: " + groups(joined));
    }

    // ---- settling -----------------------------------------------------------------------------

    /** Whether a primary can move, or a member leave, as its group has all its replicas. */
    public boolean isSettling(ClusterMap map, long nowNanos) {
        if (map.epoch() == settledEpoch) {
            return false;
        }
        if (map.pgs().stream().noneMatch(InSyncSets::isAstray)) {
            settledEpoch = map.epoch();
            return false;
        }
        return settling(map, nowNanos) != null;
    }

    /** Makes in-sync sets what the replicas are, a few at a time; null if none can be. */
    public @Nullable Change settling(ClusterMap base, long nowNanos) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        Map<String, Integer> changed = new TreeMap<>();
        int most = Math.max(MOVES, base.servers().size());
        for (PlacementGroup group : base.pgs()) {
            if (update.getPgsCount() >= most
                    || base.isTied(group)
                    || !isAstray(group)
                    || isSlow(base, group.getReplicas(0))
                    || wasStartedAnew(group, group.getReplicas(0))
                    || !group.getReplicasList().stream().allMatch(d -> serves(base, d, nowNanos))) {
                continue;
            }
            List<Integer> extra = new ArrayList<>(group.getInSyncList());
            extra.removeAll(group.getReplicasList());
            List<Integer> then = new ArrayList<>(group.getReplicasList());
            if (ClusterMap.primaryOf(group) != group.getReplicas(0)) {
                then.addAll(extra);
                update.addPgs(inSync(group, then, base));
                changed.merge(name(base, then.getFirst()) + " (is primary)", 1, Integer::sum);
            } else if (extra.stream().allMatch(d -> knowsItIsNoPrimary(base, group, d))) {
                update.addPgs(inSync(group, then, base));
                extra.forEach(d -> changed.merge(name(base, d) + " (left)", 1, Integer::sum));
            }
        }
        return update.getPgsCount() == 0 ? null : new Change(update, "settled: " + groups(changed));
    }

    private boolean knowsItIsNoPrimary(ClusterMap base, PlacementGroup group, int disk) {
        @Nullable Server server = base.serverOfDisk(disk);
        return server == null
                || !server.getUp()
                || isReleased(base, disk)
                || confirmedEpoch(server) >= group.getEpoch();
    }

    /** It has all its replicas, and another primary, or members besides. */
    static boolean isAstray(PlacementGroup group) {
        return group.getInSyncList().containsAll(group.getReplicasList())
                && (group.getInSyncCount() > group.getReplicasCount()
                        || ClusterMap.primaryOf(group) != group.getReplicas(0));
    }

    // ---- for all of them ----------------------------------------------------------------------

    private static PlacementGroup.Builder inSync(
            PlacementGroup group, List<Integer> disks, ClusterMap base) {
        return group.toBuilder()
                .clearInSync()
                .addAllInSync(List.copyOf(disks))
                .setEpoch(base.epoch() + 1);
    }

    private static String name(ClusterMap map, int disk) {
        @Nullable Server server = map.serverOfDisk(disk);
        return "disk %d of data server %s".formatted(disk, server == null ? "?" : server.getId());
    }

    /** {@code disk 3 of data server 2 (down): 40 placement groups; …}. */
    private static String groups(Map<String, Integer> counts) {
        List<String> parts = new ArrayList<>();
        counts.forEach((what, count) ->
                parts.add(what + ": " + count + " placement group" + (count == 1 ? "" : "s")));
        return String.join("; ", parts);
    }
}
