package io.cairn.mds.leader;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Durations;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.mds.proto.ClusterSettings;
import java.time.Duration;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What {@code cairn set} can set: how a value is written, and what it does. */
enum LiveSetting {
    REAPER_RATE(
            "reaper.rate",
            "a whole number, 0 to " + LiveSetting.MAX_REAPER_RATE,
            "Deleted files whose data is removed per second, at most; 0: no limit. Once set, it"
                    + " replaces background.reaper_inodes_per_second."),
    NO_OUT(
            "noout",
            LiveSetting.ON_OR_OFF,
            "While on, what a disk has is not placed elsewhere, however long it is away."),
    NO_REBALANCE(
            "norebalance",
            LiveSetting.ON_OR_OFF,
            "While on, placement groups stay where they are, but for those on a drained or absent"
                    + " disk."),
    NO_DOWN(
            "nodown",
            LiveSetting.ON_OR_OFF,
            "While on, placement groups wait for data servers that are silent: nobody is marked down"
                    + " or leaves an in-sync set for that."),
    NO_RECOVER(
            "norecover",
            LiveSetting.ON_OR_OFF,
            "While on, no replica is brought up to date; what is missing, or moves, waits."),
    PAUSE("pause", LiveSetting.ON_OR_OFF, "While on, what clients read and write waits."),
    MOVES_PER_DISK(
            "moves.per_disk",
            "a whole number, 1 to " + LiveSetting.MAX_MOVES,
            "Placement groups that move to or from each disk at once."),
    RECOVERY_RATE(
            "recovery.max_rate",
            "a size such as 64MiB, 64KiB to 1TiB, or none",
            "Bytes per second, at most, that each data server copies to replicas that lack"
                    + " something; none: what its configuration says, recovery.max_rate, which is"
                    + " never exceeded."),
    RECOVERY_OPERATIONS(
            "recovery.max_operations",
            "a whole number, 0 to " + LiveSetting.MAX_RECOVERY_OPERATIONS,
            "Pieces of chunks per second, at most, that each data server copies to replicas that"
                    + " lack something; 0: no limit."),
    NO_SCRUB(
            "noscrub",
            LiveSetting.ON_OR_OFF,
            "While on, no scrub begins or goes on by schedule; 'cairn scrub' does."),
    ORPHAN_AGE(
            "orphans.age",
            "a time of whole seconds such as 7d, 12h or 30s, 1s to 3650d",
            "How long after it was found first orphaned data has to be found again, to count as"
                    + " proven and be removed."),
    ORPHAN_REMOVAL(
            "orphans.remove",
            LiveSetting.ON_OR_OFF,
            "While on, proven orphaned data is removed without being asked; else by 'cairn orphans"
                    + " remove' only."),
    ORPHAN_SHARE(
            "orphans.max_share",
            "a percentage such as 1% or 0.5%, 0% to 100%",
            "Where more than this share of a pool's inodes or bytes is orphaned, nothing of it is"
                    + " removed without being asked."),
    NEAR_FULL(
            "space.near_full",
            LiveSetting.PERCENT,
            "Percent of what it can hold from which a disk is near full: no further replicas are"
                    + " placed on it where others can take them."),
    FULL(
            "space.full",
            LiveSetting.PERCENT,
            "Percent of what it can hold from which a disk is full: it gets no further replicas, and"
                    + " pools that have it take no new data.");

    private static final int MAX_MOVES = 64;
    private static final String PERCENT =
            "a whole number of percent, " + FillLimits.LEAST + " to " + FillLimits.MOST;

    private static final int MAX_REAPER_RATE = 1_000_000;
    private static final int MAX_RECOVERY_OPERATIONS = 1_000_000;
    private static final String NO_LIMIT = "none";
    private static final long MIN_RECOVERY_RATE = 64L << 10;
    private static final long MAX_RECOVERY_RATE = 1L << 40;
    private static final Duration MIN_AGE = Duration.ofSeconds(1);
    private static final Duration MAX_AGE = Duration.ofDays(3650);
    private static final Pattern SHARE = Pattern.compile("(?<whole>\\d{1,3})(\\.(?<tenth>\\d))?%");
    private static final String ON_OR_OFF = "on or off";

    private final String title;
    private final String allowed;
    private final String meaning;

    LiveSetting(String title, String allowed, String meaning) {
        this.title = title;
        this.allowed = allowed;
        this.meaning = meaning;
    }

    /** EINVAL, naming those there are, where there is none of this name. */
    static LiveSetting of(String title) {
        return Arrays.stream(values())
                .filter(s -> s.title.equals(title))
                .findFirst()
                .orElseThrow(() ->
                        new FsException(
                                Errno.EINVAL,
                                "there is no setting of this name, only "
                                        + Arrays.stream(values())
                                                .map(LiveSetting::title)
                                                .collect(Collectors.joining(", "))));
    }

    /** By which the administrator names it. */
    String title() {
        return title;
    }

    /** Which values, in words. */
    String allowed() {
        return allowed;
    }

    String meaning() {
        return meaning;
    }

    /** Whether no configuration says what counts before it is set. */
    boolean isBuiltIn() {
        return this != REAPER_RATE;
    }

    /** EINVAL where the value is none. */
    ClusterSettings change(String value) {
        ClusterSettings.Builder change = ClusterSettings.newBuilder();
        return switch (this) {
            case REAPER_RATE ->
                    change.setReaperInodesPerSecond(rate(value, MAX_REAPER_RATE, "files ")).build();
            case NO_OUT -> change.setNoOut(isOn(value)).build();
            case NO_REBALANCE -> change.setNoRebalance(isOn(value)).build();
            case NO_DOWN -> change.setNoDown(isOn(value)).build();
            case NO_RECOVER -> change.setNoRecover(isOn(value)).build();
            case PAUSE -> change.setPause(isOn(value)).build();
            case MOVES_PER_DISK -> change.setMovesPerDisk(moves(value)).build();
            case RECOVERY_RATE -> change.setRecoveryBytesPerSecond(bytes(value)).build();
            case RECOVERY_OPERATIONS ->
                    change.setRecoveryOperationsPerSecond(rate(value, MAX_RECOVERY_OPERATIONS, ""))
                            .build();
            case NO_SCRUB -> change.setNoScrub(isOn(value)).build();
            case ORPHAN_AGE -> change.setOrphanAgeSeconds(seconds(value)).build();
            case ORPHAN_REMOVAL -> change.setOrphanRemoval(isOn(value)).build();
            case ORPHAN_SHARE -> change.setOrphanSharePermille(permille(value)).build();
            case NEAR_FULL -> change.setNearFullPercent(percent(value)).build();
            case FULL -> change.setFullPercent(percent(value)).build();
        };
    }

    boolean isSet(ClusterSettings settings) {
        return switch (this) {
            case REAPER_RATE -> settings.hasReaperInodesPerSecond();
            case NO_OUT -> settings.hasNoOut();
            case NO_REBALANCE -> settings.hasNoRebalance();
            case NO_DOWN -> settings.hasNoDown();
            case NO_RECOVER -> settings.hasNoRecover();
            case PAUSE -> settings.hasPause();
            case MOVES_PER_DISK -> settings.hasMovesPerDisk();
            case RECOVERY_RATE -> settings.hasRecoveryBytesPerSecond();
            case RECOVERY_OPERATIONS -> settings.hasRecoveryOperationsPerSecond();
            case NO_SCRUB -> settings.hasNoScrub();
            case ORPHAN_AGE -> settings.hasOrphanAgeSeconds();
            case ORPHAN_REMOVAL -> settings.hasOrphanRemoval();
            case ORPHAN_SHARE -> settings.hasOrphanSharePermille();
            case NEAR_FULL -> settings.hasNearFullPercent();
            case FULL -> settings.hasFullPercent();
        };
    }

    /** What counts now. */
    String value(ClusterSettings settings, long configuredReaperRate) {
        return switch (this) {
            case REAPER_RATE ->
                    Long.toString(
                            isSet(settings)
                                    ? settings.getReaperInodesPerSecond()
                                    : configuredReaperRate);
            case NO_OUT -> onOrOff(settings.getNoOut());
            case NO_REBALANCE -> onOrOff(settings.getNoRebalance());
            case NO_DOWN -> onOrOff(settings.getNoDown());
            case NO_RECOVER -> onOrOff(settings.getNoRecover());
            case NO_SCRUB -> onOrOff(settings.getNoScrub());
            case PAUSE -> onOrOff(settings.getPause());
            case MOVES_PER_DISK -> Integer.toString(Held.of(settings).movesPerDisk());
            case RECOVERY_RATE ->
                    settings.getRecoveryBytesPerSecond() == 0
                            ? NO_LIMIT
                            : new ByteSize(settings.getRecoveryBytesPerSecond()).toString();
            case RECOVERY_OPERATIONS -> Integer.toString(settings.getRecoveryOperationsPerSecond());
            case ORPHAN_AGE ->
                    Durations.format(Duration.ofSeconds(OrphanPolicy.of(settings).ageSeconds()));
            case ORPHAN_REMOVAL -> onOrOff(settings.getOrphanRemoval());
            case ORPHAN_SHARE -> OrphanPolicy.of(settings).share();
            case NEAR_FULL -> Integer.toString(FillLimits.of(settings).nearFull());
            case FULL -> Integer.toString(FillLimits.of(settings).full());
        };
    }

    private int rate(String value, int most, String of) {
        if (!value.matches("[0-9]{1,7}") || Integer.parseInt(value) > most) {
            throw new FsException(
                    Errno.EINVAL,
                    title + " is " + allowed + " (" + of + "per second; 0: no limit)");
        }
        return Integer.parseInt(value);
    }

    private long bytes(String value) {
        if (value.equals(NO_LIMIT)) {
            return 0;
        }
        try {
            long bytes = ByteSize.parse(value).bytes();
            if (bytes >= MIN_RECOVERY_RATE && bytes <= MAX_RECOVERY_RATE) {
                return bytes;
            }
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw new FsException(Errno.EINVAL, title + " is " + allowed);
    }

    private static String onOrOff(boolean on) {
        return on ? "on" : "off";
    }

    private int moves(String value) {
        if (!value.matches("[1-9][0-9]?") || Integer.parseInt(value) > MAX_MOVES) {
            throw new FsException(Errno.EINVAL, title + " is " + allowed);
        }
        return Integer.parseInt(value);
    }

    private long seconds(String value) {
        try {
            Duration time = Durations.parse(value);
            if (time.compareTo(MIN_AGE) >= 0
                    && time.compareTo(MAX_AGE) <= 0
                    && time.getNano() == 0) {
                return time.toSeconds();
            }
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw new FsException(Errno.EINVAL, title + " is " + allowed);
    }

    private int permille(String value) {
        Matcher share = SHARE.matcher(value);
        if (share.matches()) {
            String tenth = share.group("tenth");
            int permille =
                    10 * Integer.parseInt(share.group("whole"))
                            + (tenth == null ? 0 : Integer.parseInt(tenth));
            if (permille <= 1000) {
                return permille;
            }
        }
        throw new FsException(Errno.EINVAL, title + " is " + allowed);
    }

    private int percent(String value) {
        String number = value.endsWith("%") ? value.substring(0, value.length() - 1) : value;
        if (!number.matches("[1-9][0-9]{0,2}")
                || Integer.parseInt(number) < FillLimits.LEAST
                || Integer.parseInt(number) > FillLimits.MOST) {
            throw new FsException(Errno.EINVAL, title + " is " + allowed);
        }
        return Integer.parseInt(number);
    }

    private boolean isOn(String value) {
        return switch (value) {
            case "on" -> true;
            case "off" -> false;
            default -> throw new FsException(Errno.EINVAL, title + " is " + allowed);
        };
    }
}
