package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.MapChecks;
import io.cairn.mds.map.PgPlanner;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pool whose number of placement groups is automatic grows with its disks: the leader's own plans
 * against data servers without disks, which do what the map asks for some ticks later. Prints what
 * it cost ({@code docs/benchmarks.md}); asserts what is not a matter of time.
 *
 * <p>{@code -Dcairn.test.growth.disks=3,10,100,1000} are the numbers of disks, one after the other.
 */
class PoolGrowthTest {
    private static final Logger LOG = LoggerFactory.getLogger(PoolGrowthTest.class);

    private static final int[] DISKS =
            Arrays.stream(System.getProperty("cairn.test.growth.disks", "3,10,30").split(","))
                    .mapToInt(Integer::parseInt)
                    .toArray();

    private static final int POOL = 1;
    private static final int SIZE = 3;
    private static final int REPLICAS_PER_DISK = 50;

    /** Twice as many as those from which on moves go first. */
    private static final int MOST_ON_A_DISK = 400;

    /** Those that come first are alone in their servers. */
    private static final int ALONE = 10;

    private static final int DISKS_OF_A_SERVER = 10;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int TICKS_PER_COUNT = 10;

    /** From a split until the primary of the new group serves: so many, up to twice that. */
    private static final int TICKS_TO_SPLIT = 5;

    /** From a move until the new replicas ask to join, likewise. */
    private static final int TICKS_TO_LEARN = 20;

    private final ServerLeases servers = new ServerLeases(TimeUnit.HOURS.toNanos(1));
    private final InSyncSets sets = new InSyncSets(servers, () -> false);
    private final Placement placement =
            new Placement(
                    sets,
                    new Placement.Times(Duration.ofHours(1), Duration.ofHours(1)),
                    () -> Held.NONE);
    private final PgSplits splits =
            new PgSplits(sets, placement, servers, () -> Held.NONE, () -> true, () -> true);
    private final PgMerges merges = new PgMerges(sets, servers, () -> Held.NONE, () -> true);

    private final Random random = new Random(1);
    private ClusterMap map = ClusterMap.EMPTY;
    private long now = TimeUnit.HOURS.toNanos(1);
    private int tick;

    /** By group: the tick at which its primary serves, or its new replicas ask to join. */
    private final Map<Integer, Integer> splitting = new HashMap<>();

    private final Map<Integer, Integer> learning = new HashMap<>();

    /** What servers say of their disks. */
    private final Map<Integer, List<DiskStatus>> statuses = new HashMap<>();

    private final Map<Integer, Integer> replicas = new HashMap<>();
    private final Map<String, Integer> changes = new TreeMap<>();

    /** Of all data, counted once for each copy of it that was made. */
    private double moved;

    private int movedReplicas;
    private int countedAt;
    private int begunAt;
    private int mostOnADisk;
    private long planningNanos;
    private long longestNanos;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyDiskGetsItsShareAndTheLeastDataMoves(boolean sameSize) {
        begin(sameSize);
        for (int i = 1; i < DISKS.length; i++) {
            int before = map.disks().size();
            forget();
            add(DISKS[i], sameSize);
            settle();
            double least = least(before);
            LOG.info(
                    "{} to {} disks of {}: {}",
                    before,
                    DISKS[i],
                    sameSize ? "one size" : "two sizes",
                    figures(least));
            checkShares();
        }
    }

    // ---- disks ------------------------------------------------------------------------------

    private void begin(boolean sameSize) {
        MapUpdate.Builder first = MapUpdate.newBuilder();
        for (int id = 1; id <= DISKS[0]; id++) {
            first.addServers(server(id)).addDisks(disk(id, sameSize));
        }
        Pool wanted =
                Pool.newBuilder()
                        .setName("data")
                        .setSize(SIZE)
                        .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER)
                        .build();
        Pool pool = Pools.created(ClusterMap.EMPTY.with(first.build()), wanted, true);
        assertThat(pool.getId()).isEqualTo(POOL);
        ClusterMap empty = ClusterMap.of(first.setEpoch(1).addPools(pool).build());
        List<List<Integer>> table = PgPlanner.plan(empty, pool);
        MapUpdate.Builder groups = MapUpdate.newBuilder();
        for (int i = 0; i < table.size(); i++) {
            groups.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(POOL, i))
                            .setEpoch(2)
                            .addAllReplicas(table.get(i))
                            .addAllInSync(table.get(i)));
        }
        map = empty;
        servers.begin(map, now);
        sets.begin(now);
        placement.begin();
        change("made", groups);
        open();
        settle();
    }

    private void open() {
        for (Server server : map.servers()) {
            statuses.put(
                    server.getId(),
                    map.disks().stream()
                            .filter(d -> d.getServer() == server.getId())
                            .map(d -> DiskStatus.newBuilder().setDisk(d.getId()).build())
                            .toList());
        }
    }

    private static int serverOf(int disk) {
        return disk <= ALONE ? disk : ALONE + Math.ceilDiv(disk - ALONE, DISKS_OF_A_SERVER);
    }

    private static Server server(int id) {
        return Server.newBuilder()
                .setId(id)
                .setAddress("h:" + id)
                .setUp(true)
                .setRecovers(true)
                .setSplits(true)
                .setUnites(true)
                .build();
    }

    private static Disk disk(int id, boolean sameSize) {
        return Disk.newBuilder()
                .setId(id)
                .setServer(serverOf(id))
                .setCapacityBytes(sameSize || id % 2 == 0 ? 2L << 40 : 3L << 40)
                .build();
    }

    private void add(int count, boolean sameSize) {
        MapUpdate.Builder more = MapUpdate.newBuilder();
        for (int id = map.disks().size() + 1; id <= count; id++) {
            if (map.server(serverOf(id)) == null) {
                more.addServers(server(serverOf(id)));
            }
            more.addDisks(disk(id, sameSize));
        }
        change("disks come", more);
        open();
    }

    // ---- the leader -------------------------------------------------------------------------

    /** Until nothing is to be done, and nothing waits for data servers. */
    private void settle() {
        boolean changed = true;
        while (changed || !splitting.isEmpty() || !learning.isEmpty()) {
            pass(changed ? 1 : Math.max(1, ticksToNext()));
            heard();
            changed = isChangedAtTick();
            changed |= isJoined();
        }
        assertThat(map.pgs())
                .allMatch(g -> g.getInSyncList().equals(g.getReplicasList()))
                .allMatch(g -> placement.isPlaced(map, g));
    }

    private void pass(int ticks) {
        tick += ticks;
        now += ticks * TICK_NANOS;
    }

    /** Before that nothing changes. */
    private int ticksToNext() {
        return IntStream.concat(
                                splitting.values().stream().mapToInt(t -> t),
                                learning.values().stream().mapToInt(t -> t))
                        .min()
                        .orElse(tick)
                - tick;
    }

    /** In the order of {@link InSyncChanges}, one change at a tick. */
    private boolean isChangedAtTick() {
        if (tick >= countedAt + TICKS_PER_COUNT) {
            countedAt = tick;
            timed(() -> placement.toCopy(map, true, now));
        }
        return isChanged("leave", () -> sets.isLeaving(map, now), () -> sets.leaving(map, now))
                || isChanged(
                        "settle", () -> sets.isSettling(map, now), () -> sets.settling(map, now))
                || isChanged("split", () -> splits.isAny(map, now), () -> splits.change(map, now))
                || isChanged("merge", () -> merges.isAny(map, now), () -> merges.change(map, now))
                || isChanged(
                        "absent",
                        () -> placement.isAnyToChange(map, now),
                        () -> placement.absent(map, now))
                || isChanged(
                        "move",
                        () -> placement.isMoving(map, now),
                        () -> placement.moving(map, now));
    }

    private boolean isChanged(
            String what, Supplier<Boolean> due, Supplier<InSyncSets.@Nullable Change> decision) {
        InSyncSets.@Nullable Change change = timed(() -> due.get() ? decision.get() : null);
        if (change != null) {
            change(what, change.update());
        }
        return change != null;
    }

    private <T extends @Nullable Object> T timed(Supplier<T> planning) {
        long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        T planned = planning.get();
        long took = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
        planningNanos += took;
        longestNanos = Math.max(longestNanos, took);
        return planned;
    }

    private void change(String what, MapUpdate.Builder update) {
        MapUpdate made = update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build();
        assertThat(MapChecks.objection(map, made)).isNull();
        ClusterMap next = Objects.requireNonNull(map.apply(made));
        changes.merge(what, 1, Integer::sum);
        for (PlacementGroup group : made.getPgsList()) {
            follow(map.pg(group.getPg()), group);
        }
        map = next;
        checkSplits();
    }

    private void follow(@Nullable PlacementGroup before, PlacementGroup group) {
        assertThat(group.getInSyncCount()).isGreaterThanOrEqualTo(SIZE);
        if (before != null) {
            before.getReplicasList().forEach(d -> replicas.merge(d, -1, Integer::sum));
            int joined = group.getInSyncCount() - before.getInSyncCount();
            if (joined > 0) {
                movedReplicas += joined;
                moved += joined * share(group.getPg());
            }
        }
        group.getReplicasList()
                .forEach(d ->
                        mostOnADisk = Math.max(mostOnADisk, replicas.merge(d, 1, Integer::sum)));
        if (group.getSplitEpoch() == 0) {
            splitting.remove(group.getPg());
        } else {
            splitting.putIfAbsent(
                    group.getPg(), tick + TICKS_TO_SPLIT + random.nextInt(TICKS_TO_SPLIT));
        }
        if (ClusterMap.learnersOf(group).isEmpty()) {
            learning.remove(group.getPg());
        } else {
            learning.putIfAbsent(
                    group.getPg(), tick + TICKS_TO_LEARN + random.nextInt(TICKS_TO_LEARN));
        }
    }

    /** Each disk has one split to carry out at most. */
    private void checkSplits() {
        Set<Integer> busy = new HashSet<>();
        for (PlacementGroup child : map.splitting().values()) {
            assertThat(child.getReplicasList()).allMatch(busy::add);
        }
    }

    // ---- the data servers -------------------------------------------------------------------

    private void heard() {
        Map<Integer, PgReport.Builder> reports = new HashMap<>();
        splitting.forEach((pg, due) -> {
            if (due <= tick) {
                int primary = ClusterMap.primaryOf(Objects.requireNonNull(map.pg(pg)));
                reports.computeIfAbsent(serverOf(primary), _ -> PgReport.newBuilder()).addSplit(pg);
            }
        });
        statuses.forEach((server, of) -> {
            PgReport.@Nullable Builder report = reports.get(server);
            servers.heard(
                    server,
                    now,
                    map.epoch(),
                    new ServerLeases.Report(of, report == null ? null : report.build(), null, ""));
        });
    }

    private boolean isJoined() {
        List<JoinPgRequest> wanted = new ArrayList<>();
        Map<Integer, Integer> busy = new HashMap<>();
        learning.forEach((pg, due) -> {
            PlacementGroup group = Objects.requireNonNull(map.pg(pg));
            for (int disk : ClusterMap.learnersOf(group)) {
                busy.merge(disk, 1, Integer::sum);
                if (due <= tick) {
                    wanted.add(
                            JoinPgRequest.newBuilder()
                                    .setPg(pg)
                                    .setPgEpoch(group.getEpoch())
                                    .setDisk(disk)
                                    .build());
                }
            }
        });
        assertThat(busy.values()).allMatch(n -> n <= Held.NONE.movesPerDisk());
        return isChanged("join", () -> !wanted.isEmpty(), () -> sets.joining(map, wanted, now));
    }

    // ---- figures ----------------------------------------------------------------------------

    /** Of the data of the pool. */
    private double share(int pg) {
        Pool pool = Objects.requireNonNull(map.pool(POOL));
        int level = ClusterMap.baseOf(pool);
        while (level * 2 <= pool.getPgCount()) {
            level *= 2;
        }
        int index = PgHash.indexOf(pg);
        boolean isDivided = index < pool.getPgCount() - level || index >= level;
        return 1.0 / (isDivided ? 2 * level : level);
    }

    /** What belongs on the disks that came, as a multiple of all data. */
    private double least(int before) {
        Map<Integer, Double> shares =
                PgPlanner.shares(map.disks(), Objects.requireNonNull(map.pool(POOL)));
        double all = shares.values().stream().mapToDouble(s -> s).sum();
        return shares.entrySet().stream()
                        .filter(e -> e.getKey() > before)
                        .mapToDouble(Map.Entry::getValue)
                        .sum()
                / all
                * SIZE;
    }

    private void forget() {
        changes.clear();
        moved = 0;
        movedReplicas = 0;
        mostOnADisk = 0;
        planningNanos = 0;
        longestNanos = 0;
        begunAt = tick;
    }

    private String figures(double least) {
        Map<Integer, Double> shares =
                PgPlanner.shares(map.disks(), Objects.requireNonNull(map.pool(POOL)));
        double[] off =
                shares.entrySet().stream()
                        .mapToDouble(e -> replicas.getOrDefault(e.getKey(), 0) / e.getValue())
                        .toArray();
        return "%d groups, %d changes of the map %s in %d ticks, %d replicas moved, data %.2f times (least: %.2f), %d to %d replicas a disk, %.3f to %.3f of the share, at most %d at any time, planning %.1f s of CPU, longest step %d ms"
                .formatted(
                        map.pgs().size(),
                        changes.values().stream().mapToInt(n -> n).sum(),
                        changes,
                        tick - begunAt,
                        movedReplicas,
                        moved,
                        least,
                        replicas.values().stream().mapToInt(n -> n).min().orElse(0),
                        replicas.values().stream().mapToInt(n -> n).max().orElse(0),
                        Arrays.stream(off).min().orElse(0),
                        Arrays.stream(off).max().orElse(0),
                        mostOnADisk,
                        planningNanos / 1e9,
                        longestNanos / 1_000_000);
    }

    private void checkShares() {
        Pool pool = Objects.requireNonNull(map.pool(POOL));
        assertThat(pool.getPgCount()).isEqualTo(ClusterMap.targetOf(pool));
        Map<Integer, Double> bytes = new HashMap<>();
        map.pgs()
                .forEach(g ->
                        g.getReplicasList()
                                .forEach(d -> bytes.merge(d, share(g.getPg()), Double::sum)));
        PgPlanner.shares(map.disks(), pool)
                .forEach((disk, share) -> {
                    assertThat(replicas.getOrDefault(disk, 0))
                            .isCloseTo(share.intValue(), within(1));
                    assertThat(bytes.getOrDefault(disk, 0.0) * pool.getPgCount())
                            .isCloseTo(share, within(1.0));
                });
        assertThat(replicas.values().stream().mapToInt(n -> n).sum())
                .isGreaterThanOrEqualTo(REPLICAS_PER_DISK * map.disks().size());
    }
}
