package io.cairn.dataserver.scrub;

import io.cairn.common.proto.ScrubProgressReply;
import io.cairn.common.proto.ScrubReply;
import io.cairn.common.proto.ScrubReport;
import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.ground.ScrubConfig;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoops;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The scrubs of one data server: of all its disks. Any thread. */
public final class Scrubs implements AutoCloseable {
    private static final int MAX_TEXTS = 16;

    /** Commands of administrators whose progress can be asked for. */
    private static final int MAX_RUNS = 64;

    /** Blocks in quarantine whose repair is tried again at once, of each disk. */
    private static final int MAX_RETRIES = 256;

    private final PgLoops loops;
    private final ScrubConfig config;
    private final ScrubSchedule schedule;
    private final InodeOwners owners;
    private final DataServerMeters meters;
    private final List<LocalDisk> disks = new CopyOnWriteArrayList<>();
    private final Map<LocalDisk, DiskScrubber> scrubbers = new ConcurrentHashMap<>();
    private final Map<LocalDisk, ChunkChecks> checks = new ConcurrentHashMap<>();
    private volatile boolean held;

    /** By number, the oldest first. Guarded by itself. */
    private final Map<Long, ScrubRun> runs = new LinkedHashMap<>();

    private long lastRun = System.nanoTime() & Integer.MAX_VALUE; // none of the process before

    /** Has a block of a disk read again, and repaired. */
    @FunctionalInterface
    public interface Repairer {
        void lookAgain(LocalDisk disk, BadBlock block);
    }

    /**
     * @param disks that opened
     * @param owners asked whose the data is
     */
    public Scrubs(
            PgLoops loops,
            List<LocalDisk> disks,
            ScrubConfig config,
            InodeOwners owners,
            DataServerMeters meters) {
        this.loops = loops;
        this.config = config;
        this.schedule = new ScrubSchedule(config);
        this.owners = owners;
        this.meters = meters;
        disks.forEach(this::prepare);
    }

    private DiskScrubber prepare(LocalDisk disk) {
        ChunkChecks reads = new ChunkChecks(disk, config.rate().bytes());
        DiskScrubber scrubber =
                new DiskScrubber(disk, loops, reads, schedule, owners, () -> held, meters);
        checks.put(disk, reads);
        scrubbers.put(disk, scrubber);
        disks.add(disk);
        return scrubber;
    }

    /** One more disk, after {@link #start}. */
    public void add(LocalDisk disk) {
        prepare(disk).start();
    }

    /** Begins with what is due. */
    public void start() {
        scrubbers.values().forEach(DiskScrubber::start);
    }

    /** What reads chunks of a disk for scrubs; null if it is none of this server. */
    public @Nullable ChunkChecks checks(LocalDisk disk) {
        return checks.get(disk);
    }

    /** Whether no scrub is to begin, or go on, by schedule. */
    public void hold(boolean on) {
        held = on;
    }

    /**
     * Scrubs now.
     *
     * @param pgs of these, those whose primary is here; empty: all of those
     */
    public CompletableFuture<ScrubReply> begin(Collection<Integer> pgs, boolean deep) {
        Set<Integer> asked = Set.copyOf(pgs);
        return loops.primaries()
                .thenApply(primaries -> {
                    Map<Integer, LocalDisk> chosen = new HashMap<>(primaries);
                    chosen.keySet().removeIf(pg -> !asked.isEmpty() && !asked.contains(pg));
                    ScrubRun run = new ScrubRun(chosen.keySet(), deep);
                    long number = remember(run);
                    chosen.forEach((pg, disk) -> {
                        DiskScrubber scrubber = scrubbers.get(disk);
                        if (scrubber != null) {
                            scrubber.scrub(pg, run);
                        }
                    });
                    return ScrubReply.newBuilder()
                            .setRun(number)
                            .addAllPgs(chosen.keySet())
                            .build();
                });
    }

    private long remember(ScrubRun run) {
        synchronized (runs) {
            if (runs.size() >= MAX_RUNS) {
                runs.values().removeIf(ScrubRun::isOver);
            }
            runs.put(++lastRun, run);
            return lastRun;
        }
    }

    public ScrubProgressReply progress(long number) {
        ScrubRun run;
        synchronized (runs) {
            run = runs.get(number);
        }
        return run == null ? ScrubProgressReply.getDefaultInstance() : run.progress();
    }

    /** Has the blocks in quarantine read again: perhaps they were overwritten. */
    public void lookAtQuarantine(Repairer repairer) {
        for (LocalDisk disk : disks) {
            if (!disk.isOut()) {
                disk.damage().quarantined().keySet().stream()
                        .limit(MAX_RETRIES)
                        .forEach(block -> repairer.lookAgain(disk, block));
            }
        }
    }

    /** Seconds since the last scrub of the group that has waited longest; 0 without groups. */
    public long ageSeconds(boolean deep) {
        long from = Long.MAX_VALUE;
        for (DiskScrubber scrubber : scrubbers.values()) {
            DiskScrubber.Ages ages = scrubber.ages();
            from = Math.min(from, deep ? ages.deepMillis() : ages.lightMillis());
        }
        return from == Long.MAX_VALUE
                ? 0
                : TimeUnit.MILLISECONDS.toSeconds(Math.max(0, System.currentTimeMillis() - from));
    }

    /** For the metadata service. */
    public ScrubReport report() {
        ScrubReport.Builder report =
                ScrubReport.newBuilder()
                        .setOldestLightSeconds(ageSeconds(false))
                        .setOldestDeepSeconds(ageSeconds(true));
        List<String> differences = new ArrayList<>();
        for (DiskScrubber scrubber : scrubbers.values()) {
            DiskScrubber.Ages ages = scrubber.ages();
            Boolean running = scrubber.running();
            report.setGroups(report.getGroups() + ages.groups())
                    .setNeverDeep(report.getNeverDeep() + ages.neverDeep())
                    .setRunning(report.getRunning() + (running != null ? 1 : 0))
                    .setRunningDeep(
                            report.getRunningDeep() + (Boolean.TRUE.equals(running) ? 1 : 0))
                    .setDifferences(
                            report.getDifferences()
                                    + ages.earlier()
                                    + scrubber.differences().size());
            differences.addAll(scrubber.earlierTexts());
            scrubber.differences().stream()
                    .limit(MAX_TEXTS)
                    .forEach(d -> differences.add(d.text()));
        }
        report.addAllDifferenceTexts(differences.stream().limit(MAX_TEXTS).toList());
        for (LocalDisk disk : disks) {
            Map<BadBlock, String> quarantined = disk.damage().quarantined();
            report.setQuarantined(report.getQuarantined() + quarantined.size());
            quarantined.entrySet().stream()
                    .limit(MAX_TEXTS - report.getQuarantinedTextsCount())
                    .forEach(q ->
                            report.addQuarantinedTexts(
                                    "disk %d: %s: %s"
                                            .formatted(disk.id(), q.getKey(), q.getValue())));
        }
        return report.build();
    }

    /** Ends what is running; before the disks are closed. */
    @Override
    public void close() {
        scrubbers.values().forEach(DiskScrubber::close);
        checks.values().forEach(ChunkChecks::close);
    }
}
