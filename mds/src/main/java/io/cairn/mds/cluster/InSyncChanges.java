package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MemberSilentRequest;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.FillLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings into the map what {@link InSyncSets} decides, and logs it, one line for each change. What
 * is decided at ticks is one change at a time; learners that ask while other changes are made join
 * together. The control thread only, except for {@link #copies}.
 */
final class InSyncChanges {
    private static final Logger LOG = LoggerFactory.getLogger(InSyncChanges.class);
    private static final long COUNT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long FILL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What waits for these are clients. */
    private static final Duration URGENT = Duration.ofSeconds(1);

    private static final Duration PATIENT = Duration.ofSeconds(30);

    private final InSyncSets sets;
    private final SlowDisks slow;
    private final ServerLeases servers;
    private final Placement placement;
    private final BooleanSupplier isMarking;
    private final BooleanSupplier isPlacing;
    private final PgSplits splits;
    private final PgMerges merges;
    private final BooleanSupplier isSplitting;
    private final Supplier<@Nullable FillLimits> limits;
    private final CurrentMap map;
    private final MapChanges changes;
    private final NanoClock clock;

    private final CopyProgress progress = new CopyProgress();
    private long countedNanos;
    private long filledNanos;

    /** The change that a tick has begun; null when it is made, or failed. */
    private @Nullable CompletableFuture<ClusterMap> atTick;

    private final LogRetry marking = new LogRetry("saying which disks are slow", PATIENT);
    private final LogRetry leaving = new LogRetry("taking members out of in-sync sets", URGENT);
    private final LogRetry filling = new LogRetry("saying which disks are full", PATIENT);
    private final LogRetry settling = new LogRetry("ending moves of placement groups", URGENT);
    private final LogRetry splitting = new LogRetry("splitting placement groups", PATIENT);
    private final LogRetry merging = new LogRetry("merging placement groups", PATIENT);
    private final LogRetry absence = new LogRetry("saying which disks are absent", PATIENT);
    private final LogRetry moving = new LogRetry("moving placement groups", PATIENT);
    private final List<LogRetry> retries =
            List.of(marking, leaving, filling, settling, splitting, merging, absence, moving);

    private Joins joins = new Joins();

    /** Requests that are granted together. */
    private static final class Joins {
        final List<JoinPgRequest> wanted = new ArrayList<>();
        final CompletableFuture<ClusterMap> done = new CompletableFuture<>();
    }

    /**
     * @param servers have told of their disks
     * @param isMarking whether all members know maps that say which disks are slow
     * @param isPlacing whether all members know maps in which groups move
     * @param isSplitting whether all members know maps in which groups are split
     * @param limits when disks are full; null while not all members know maps that say which are
     */
    InSyncChanges(
            InSyncSets sets,
            SlowDisks slow,
            ServerLeases servers,
            BooleanSupplier isMarking,
            Placement placement,
            BooleanSupplier isPlacing,
            PgSplits splits,
            PgMerges merges,
            BooleanSupplier isSplitting,
            Supplier<@Nullable FillLimits> limits,
            CurrentMap map,
            MapChanges changes,
            NanoClock clock) {
        this.sets = sets;
        this.slow = slow;
        this.servers = servers;
        this.isMarking = isMarking;
        this.placement = placement;
        this.isPlacing = isPlacing;
        this.splits = splits;
        this.merges = merges;
        this.isSplitting = isSplitting;
        this.limits = limits;
        this.map = map;
        this.changes = changes;
        this.clock = clock;
    }

    /**
     * On becoming leader.
     *
     * @param fromNanos when it begins to hear of servers
     */
    void begin(long fromNanos) {
        sets.begin(fromNanos);
        slow.begin(map.get(), fromNanos);
        placement.begin();
        progress.begin();
        countedNanos = fromNanos - COUNT_NANOS;
        filledNanos = fromNanos - FILL_NANOS;
        atTick = null;
        retries.forEach(LogRetry::succeeded);
        joins = new Joins();
    }

    void restarted(ClusterMap now, Set<Integer> restarted) {
        sets.restarted(now, restarted, clock.nanos());
    }

    void told(MemberSilentRequest said) {
        sets.told(said.getPg(), said.getPgEpoch(), said.getDisk(), clock.nanos());
    }

    void tick() {
        ClusterMap present = map.get();
        long now = clock.nanos();
        if (now - countedNanos >= COUNT_NANOS) {
            countedNanos = now;
            List<PlacementGroup> left = placement.toCopy(present, isPlacing.getAsBoolean(), now);
            progress.left(left.size(), bytes(present, left), now);
        }
        if (atTick != null) {
            return;
        }
        if (slow.look(present, servers.disks(), now)
                && isMarking.getAsBoolean()
                && marking.isDue(now)) {
            atTick(marking, slow::changed);
        } else if (leaving.isDue(now) && sets.isLeaving(present, now)) {
            atTick(leaving, base -> sets.leaving(base, clock.nanos()));
        } else if (filling.isDue(now) && isAnyFillToChange(present, now)) {
            atTick(filling, this::fill);
        } else if (settling.isDue(now) && sets.isSettling(present, now)) {
            atTick(settling, base -> sets.settling(base, clock.nanos()));
        } else if (isSplitting.getAsBoolean()
                && splitting.isDue(now)
                && splits.isAny(present, now)) {
            atTick(splitting, base -> splits.change(base, clock.nanos()));
        } else if (merging.isDue(now) && merges.isAny(present, now)) {
            atTick(merging, base -> merges.change(base, clock.nanos()));
        } else if (isPlacing.getAsBoolean()) {
            place(present, now);
        }
    }

    private long bytes(ClusterMap present, List<PlacementGroup> replicas) {
        if (replicas.isEmpty()) {
            return 0;
        }
        ReplicaBytes bytes = new ReplicaBytes(DiskLoads.of(present.pgs()), servers.disks());
        return (long) replicas.stream().mapToDouble(bytes::replicaOf).sum();
    }

    /** Looks once a second only: at all disks, and at all groups once a disk is near full. */
    private boolean isAnyFillToChange(ClusterMap present, long now) {
        if (now - filledNanos < FILL_NANOS) {
            return false;
        }
        filledNanos = now;
        return fill(present) != null;
    }

    /** What is near full or full, as disks reported it. */
    private InSyncSets.@Nullable Change fill(ClusterMap base) {
        @Nullable FillLimits now = limits.get();
        return now == null ? null : FillLevels.changed(base, servers.disks(), now);
    }

    private void place(ClusterMap present, long now) {
        if (placement.isAnyToChange(present, now) && absence.isDue(now)) {
            atTick(absence, base -> placement.absent(base, clock.nanos()));
        } else if (moving.isDue(now) && placement.isMoving(present, now)) {
            atTick(moving, base -> placement.moving(base, clock.nanos()));
        }
    }

    private void atTick(
            LogRetry retry, Function<ClusterMap, InSyncSets.@Nullable Change> decision) {
        CompletableFuture<ClusterMap> change = change(decision);
        atTick = change;
        var _ =
                change.whenComplete((_, failure) -> {
                    if (atTick != change) {
                        return; // of an earlier time as leader
                    }
                    atTick = null;
                    if (failure == null) {
                        retry.succeeded();
                    } else {
                        retry.failed(failure, clock.nanos());
                    }
                });
    }

    /** Completes when it is granted or refused; with a failure if that is not known. */
    CompletableFuture<ClusterMap> join(JoinPgRequest wanted) {
        Joins asked = joins;
        asked.wanted.add(wanted);
        if (asked.wanted.size() == 1) {
            AtomicInteger joined = new AtomicInteger();
            var _ =
                    change(
                                    base -> {
                                        taken(asked);
                                        InSyncSets.@Nullable Change change =
                                                sets.joining(base, asked.wanted, clock.nanos());
                                        joined.set(joined(base, change));
                                        return change;
                                    })
                            .whenComplete((now, failure) -> {
                                taken(asked);
                                if (failure != null) {
                                    asked.done.completeExceptionally(failure);
                                } else {
                                    progress.copied(joined.get(), clock.nanos());
                                    asked.done.complete(now);
                                }
                            });
        }
        return asked.done;
    }

    private static int joined(ClusterMap base, InSyncSets.@Nullable Change change) {
        int joined = 0;
        if (change != null) {
            for (PlacementGroup group : change.update().getPgsList()) {
                @Nullable PlacementGroup before = base.pg(group.getPg());
                joined += group.getInSyncCount() - (before == null ? 0 : before.getInSyncCount());
            }
        }
        return joined;
    }

    /** What is still to be copied. Any thread. */
    Copies copies() {
        return progress.latest();
    }

    /** Disks of which nothing is placed elsewhere though they are away for long. Any thread. */
    Set<Integer> withheld() {
        return placement.withheld();
    }

    /** Who asks from now on is not among them. */
    private void taken(Joins asked) {
        if (joins == asked) {
            joins = new Joins();
        }
    }

    /** Logs what is changed once it is. */
    private CompletableFuture<ClusterMap> change(
            Function<ClusterMap, InSyncSets.@Nullable Change> decision) {
        List<String> made = new ArrayList<>();
        return changes.change(base -> edit(decision.apply(base), made))
                .whenComplete((_, failure) -> {
                    if (failure == null) {
                        made.forEach(summary -> LOG.info("{}", summary));
                    }
                });
    }

    /**
     * @param made has the summary of this edit, and of none that was made before from an older map
     */
    private static MapUpdate.@Nullable Builder edit(
            InSyncSets.@Nullable Change change, List<String> made) {
        made.clear();
        if (change == null) {
            return null;
        }
        made.add(change.summary());
        return change.update();
    }
}
