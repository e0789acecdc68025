package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CallTotal;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Which disks hold up their placement groups: those whose calls take much longer than those of the
 * other disks of their class, and those that do not come back from a call for seconds. The map says
 * that such a disk is <i>slow</i>; then it leaves the in-sync sets that can do without it ({@link
 * InSyncSets}), and does not join again before it is well.
 *
 * <p>Disks are compared in windows, a sixth of an interval long, by the mean time of their reads,
 * their writes and syncs, and those of their logs, each for itself. A window counts for a disk with
 * at least {@link #MIN_CALLS} calls, where at least {@link #MIN_PEERS} others of its class have as
 * many. It was slow if its mean is {@link #FACTOR} times the median of the others, and more than
 * {@link #FLOOR_MICROS}. After three such windows the administrator is told, after six the disk is
 * slow. One window in which it is less than half as bad takes one of them back. A slow disk rests
 * for five intervals, as nothing is known of a disk that is asked nothing; one that stalled rests
 * until it has not for a window. No more than a tenth of the disks, and one, are slow at once: else
 * it is rather all of them, or what they are compared with.
 *
 * <p>One thread, except for {@link #texts}; without clock or I/O. What was counted is the leader's
 * own: a new leader counts anew, and lets a slow disk rest anew.
 */
final class SlowDisks {
    static final int MIN_CALLS = 10;
    static final int MIN_PEERS = 2;
    static final int FACTOR = 8;
    static final long FLOOR_MICROS = TimeUnit.MILLISECONDS.toMicros(50);

    /** A call that has waited for so long holds up all that is written to its groups. */
    static final long STALLED_MILLIS = 3_000;

    private static final int WINDOWS = 6;
    private static final int REST_INTERVALS = 5;
    private static final int MOST_SLOW_PART = 10;

    private static final List<Service> SERVICES =
            List.of(
                    new Service("reads", DiskStatus::getReads),
                    new Service("writes", DiskStatus::getWrites),
                    new Service("syncs", DiskStatus::getSyncs),
                    new Service("writes of the log", DiskStatus::getLogWrites),
                    new Service("syncs of the log", DiskStatus::getLogSyncs));

    private final long intervalNanos;
    private final Map<Integer, Judged> disks = new HashMap<>();
    private long windowNanos;
    private volatile Map<Integer, String> texts = Map.of();

    /** What disks do for their callers. */
    private record Service(String name, Total total) {}

    private interface Total {
        CallTotal of(DiskStatus disk);
    }

    /** What is known of one disk. */
    private static final class Judged {
        @Nullable DiskStatus before;
        final double[] means = new double[SERVICES.size()];
        int badWindows;
        String why = "";
        boolean wanted;
        long restUntilNanos;
    }

    /**
     * @param interval how long a disk is worse than its peers before it is slow
     */
    SlowDisks(Duration interval) {
        this.intervalNanos = interval.toNanos();
    }

    /**
     * On becoming leader.
     *
     * @param fromNanos when it begins to hear of servers
     */
    void begin(ClusterMap map, long fromNanos) {
        disks.clear();
        windowNanos = fromNanos;
        texts = Map.of();
        for (Disk disk : map.disks()) {
            if (disk.getSlow()) {
                Judged judged = judged(disk.getId());
                judged.wanted = true;
                judged.why = "was slow when this leader began";
                judged.restUntilNanos = fromNanos + REST_INTERVALS * intervalNanos;
            }
        }
    }

    /**
     * Looks at what servers reported.
     *
     * @param reported by disk
     * @return whether the map is to be {@link #changed}
     */
    boolean look(ClusterMap map, Map<Integer, DiskStatus> reported, long nowNanos) {
        disks.keySet().removeIf(id -> map.disk(id) == null);
        if (nowNanos - windowNanos >= intervalNanos / WINDOWS) {
            windowNanos = nowNanos;
            window(map, reported, nowNanos);
        }
        reported.forEach((id, status) -> {
            if (mayServe(map, id, status)) {
                stalled(id, status, nowNanos);
            }
        });
        for (Judged judged : disks.values()) {
            if (judged.wanted && nowNanos - judged.restUntilNanos >= 0) {
                judged.wanted = false;
                judged.badWindows = 0;
            }
        }
        tell(map);
        return changed(map) != null;
    }

    private Judged judged(int disk) {
        return disks.computeIfAbsent(disk, _ -> new Judged());
    }

    /** Else what was said of it last is no news. */
    private static boolean mayServe(ClusterMap map, int id, DiskStatus status) {
        @Nullable Server server = map.serverOfDisk(id);
        return server != null && server.getUp() && status.getCondition() != DiskCondition.DISK_OUT;
    }

    private void stalled(int id, DiskStatus status, long nowNanos) {
        if (status.getOldestCallMillis() >= STALLED_MILLIS) {
            Judged judged = judged(id);
            long rest = nowNanos + intervalNanos / WINDOWS;
            if (!judged.wanted || rest - judged.restUntilNanos > 0) {
                judged.restUntilNanos = rest;
            }
            judged.wanted = true;
            judged.why =
                    "a call to it has not come back for %d s"
                            .formatted(status.getOldestCallMillis() / 1000);
        }
    }

    // ---- windows ------------------------------------------------------------------------------

    private void window(ClusterMap map, Map<Integer, DiskStatus> reported, long nowNanos) {
        reported.forEach((id, status) -> measure(judged(id), status));
        disks.keySet().removeIf(id -> map.disk(id) == null);
        List<Map<DeviceClass, double[]>> means = new ArrayList<>();
        for (int i = 0; i < SERVICES.size(); i++) {
            means.add(means(map, i));
        }
        disks.forEach((id, judged) -> {
            @Nullable Disk disk = map.disk(id);
            if (disk != null && reported.containsKey(id)) {
                judge(
                        disk.getDeviceClass(),
                        means,
                        judged,
                        nowNanos,
                        REST_INTERVALS * intervalNanos);
            }
        });
    }

    /** Of one service, those of the disks of each class, ascending. */
    private Map<DeviceClass, double[]> means(ClusterMap map, int service) {
        Map<DeviceClass, List<Double>> all = new EnumMap<>(DeviceClass.class);
        disks.forEach((id, judged) -> {
            @Nullable Disk disk = map.disk(id);
            if (disk != null && !Double.isNaN(judged.means[service])) {
                all.computeIfAbsent(disk.getDeviceClass(), _ -> new ArrayList<>())
                        .add(judged.means[service]);
            }
        });
        Map<DeviceClass, double[]> sorted = new EnumMap<>(DeviceClass.class);
        all.forEach((deviceClass, means) ->
                sorted.put(
                        deviceClass,
                        means.stream().mapToDouble(Double::doubleValue).sorted().toArray()));
        return sorted;
    }

    /** The means of the window that ends now; NaN where there were too few calls. */
    private static void measure(Judged judged, DiskStatus now) {
        @Nullable DiskStatus before = judged.before;
        for (int i = 0; i < SERVICES.size(); i++) {
            judged.means[i] = Double.NaN;
            if (before != null) {
                CallTotal then = SERVICES.get(i).total.of(before);
                CallTotal total = SERVICES.get(i).total.of(now);
                long calls = total.getCalls() - then.getCalls();
                if (calls >= MIN_CALLS) { // fewer also after a restart of the server
                    judged.means[i] = (double) (total.getMicros() - then.getMicros()) / calls;
                }
            }
        }
        judged.before = now;
    }

    private static void judge(
            DeviceClass deviceClass,
            List<Map<DeviceClass, double[]>> means,
            Judged judged,
            long nowNanos,
            long restNanos) {
        boolean bad = false;
        boolean compared = false;
        boolean well = true;
        for (int i = 0; i < SERVICES.size(); i++) {
            double mean = judged.means[i];
            double @Nullable [] all = means.get(i).get(deviceClass);
            if (Double.isNaN(mean) || all == null || all.length <= MIN_PEERS) {
                continue;
            }
            double median = medianWithout(all, mean);
            compared = true;
            double limit = Math.max(FLOOR_MICROS, FACTOR * median);
            well &= mean < limit / 2;
            if (mean >= limit) {
                bad = true;
                judged.why =
                        "its %s take %s on average, those of other %s disks %s"
                                .formatted(
                                        SERVICES.get(i).name,
                                        millis(mean),
                                        className(deviceClass),
                                        millis(median));
            }
        }
        if (bad) {
            judged.badWindows = Math.min(WINDOWS, judged.badWindows + 1);
        } else if (compared && well) {
            judged.badWindows = Math.max(0, judged.badWindows - 1);
        }
        if (judged.badWindows == WINDOWS && !judged.wanted) {
            judged.wanted = true;
            judged.restUntilNanos = nowNanos + restNanos;
        }
    }

    /**
     * The median of the others.
     *
     * @param sorted two at least, one of which is its own
     */
    private static double medianWithout(double[] sorted, double own) {
        int middle = (sorted.length - 1) / 2;
        return sorted[middle >= Arrays.binarySearch(sorted, own) ? middle + 1 : middle];
    }

    private static String millis(double micros) {
        return "%.1f ms".formatted(micros / 1000);
    }

    private static String className(DeviceClass deviceClass) {
        return switch (deviceClass) {
            case DEVICE_CLASS_HDD -> "hdd";
            case DEVICE_CLASS_SSD -> "ssd";
            case DEVICE_CLASS_UNKNOWN, UNRECOGNIZED -> "such";
        };
    }

    // ---- the map ------------------------------------------------------------------------------

    /** Says which disks are slow; null if the map says that. */
    InSyncSets.@Nullable Change changed(ClusterMap base) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        List<String> said = new ArrayList<>();
        long slow = base.disks().stream().filter(Disk::getSlow).count();
        long most = Math.max(1, base.disks().size() / MOST_SLOW_PART);
        List<Integer> changed = new ArrayList<>();
        for (Disk disk : base.disks()) {
            @Nullable Judged judged = disks.get(disk.getId());
            boolean wanted = judged != null && judged.wanted;
            if (wanted == disk.getSlow() || wanted && slow >= most) {
                continue;
            }
            slow += wanted ? 1 : -1;
            update.addDisks(disk.toBuilder().setSlow(wanted));
            changed.add(disk.getId());
            said.add(
                    wanted && judged != null
                            ? "disk %d is slow: %s".formatted(disk.getId(), judged.why)
                            : "disk %d has rested, and may join again".formatted(disk.getId()));
        }
        if (said.isEmpty()) {
            return null;
        }
        for (PlacementGroup group : base.pgs()) {
            if (changed.stream().anyMatch(d -> isLearner(group, d))) {
                update.addPgs(group.toBuilder().setEpoch(base.epoch() + 1));
            }
        }
        return new InSyncSets.Change(update, String.join("; ", said));
    }

    /** Its primary begins, or ends, to bring it up to date with an epoch of the group. */
    private static boolean isLearner(PlacementGroup group, int disk) {
        return group.getReplicasList().contains(disk) && !group.getInSyncList().contains(disk);
    }

    private void tell(ClusterMap map) {
        Map<Integer, String> told = new HashMap<>();
        disks.forEach((id, judged) -> {
            @Nullable Disk disk = map.disk(id);
            boolean slow = disk != null && disk.getSlow();
            if (slow) {
                told.put(
                        id,
                        judged.why
                                + "; it is left out of in-sync sets that can do without it, until it"
                                + " has rested");
            } else if (judged.badWindows >= WINDOWS / 2) {
                told.put(id, judged.why);
            }
        });
        if (!told.equals(texts)) {
            texts = Map.copyOf(told);
        }
    }

    /** Why disks are slow, or about to be called so, by their ids. Any thread. */
    Map<Integer, String> texts() {
        return texts;
    }
}
