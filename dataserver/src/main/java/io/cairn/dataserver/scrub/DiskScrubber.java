package io.cairn.dataserver.scrub;

import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoops;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Scrubs the groups whose primary is on one disk, one after the other: first those that an
 * administrator asked for, then those that are due. A thread of its own; other methods may be
 * called by any thread.
 */
final class DiskScrubber implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DiskScrubber.class);

    private static final long LOOK_NANOS = 2_000_000_000L;

    /** After a scrub that did not come to its end. */
    private static final long RETRY_NANOS = 600_000_000_000L;

    /** After a member was found to lack something: it may be copied to by then. */
    private static final long AGAIN_NANOS = 10_000_000_000L;

    private static final Duration CLOSE = Duration.ofSeconds(10);

    private final LocalDisk disk;
    private final PgLoops loops;
    private final ChunkChecks checks;
    private final ScrubSchedule schedule;
    private final InodeOwners owners;
    private final BooleanSupplier held;
    private final DataServerMeters meters;
    private final Thread thread;

    /** What the last scrub of each group found, since this server started. The thread's. */
    private final Map<Integer, List<ScrubDifference>> found = new HashMap<>();

    private final Map<Integer, Long> notBeforeNanos = new HashMap<>();

    /** Groups that are looked through again, as a member of them is copied to. The thread's. */
    private final Set<Integer> again = new HashSet<>();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // guarded by lock
    private final Deque<Wanted> wanted = new ArrayDeque<>();
    private boolean closed;
    private boolean ended;

    private volatile Ages ages = Ages.NONE;
    private volatile List<ScrubDifference> differences = List.of();
    private volatile List<String> earlierTexts = List.of();
    private volatile @Nullable Boolean running;

    private record Wanted(int pg, boolean deep, @Nullable ScrubRun run) {}

    /**
     * Of the groups whose primary is on the disk.
     *
     * @param lightMillis from when the age of the oldest light scrub counts, {@code deepMillis}
     *     that of the oldest deep one; MAX_VALUE if there is no group
     * @param neverDeep groups that were never scrubbed deeply
     * @param earlier differences found before this server started, or by another primary
     */
    record Ages(int groups, long lightMillis, long deepMillis, int neverDeep, int earlier) {
        static final Ages NONE = new Ages(0, Long.MAX_VALUE, Long.MAX_VALUE, 0, 0);
    }

    /**
     * @param held whether no scrub is to begin by schedule
     */
    DiskScrubber(
            LocalDisk disk,
            PgLoops loops,
            ChunkChecks checks,
            ScrubSchedule schedule,
            InodeOwners owners,
            BooleanSupplier held,
            DataServerMeters meters) {
        this.disk = disk;
        this.loops = loops;
        this.checks = checks;
        this.schedule = schedule;
        this.owners = owners;
        this.held = held;
        this.meters = meters;
        thread = Thread.ofPlatform().daemon().name("cairn-scrub").unstarted(this::work);
    }

    void start() {
        thread.start();
    }

    /** Before everything that is due by schedule. */
    void scrub(int pg, ScrubRun run) {
        lock.lock();
        try {
            if (!ended) {
                wanted.add(new Wanted(pg, run.deep(), run));
                changed.signal();
                return;
            }
        } finally {
            lock.unlock();
        }
        run.failed(pg, new ScrubTally(), "its disk is out of service");
    }

    /** As of the last look. */
    Ages ages() {
        return ages;
    }

    /** What the last scrub of each group found. */
    List<ScrubDifference> differences() {
        return differences;
    }

    /** What was found before this server started, as far as its disk remembers. */
    List<String> earlierTexts() {
        return earlierTexts;
    }

    /** Whether the scrub that is running is a deep one; null if none is. */
    @Nullable Boolean running() {
        return running;
    }

    private void work() {
        try {
            while (true) {
                Wanted next = next();
                if (next == null) {
                    return;
                }
                try {
                    scrub(next);
                } catch (RuntimeException e) {
                    LOG.error("Disk {}: a scrub failed; it is tried again", disk.id(), e);
                    failed(next, new ScrubTally(), String.valueOf(e.getMessage()));
                }
                running = null;
            }
        } catch (InterruptedException e) {
            LOG.debug("Disk {}: scrubs end", disk.id(), e);
        } finally {
            end();
        }
    }

    /** Whoever waits for one hears that there will be none. */
    private void end() {
        List<Wanted> left;
        lock.lock();
        try {
            ended = true;
            left = List.copyOf(wanted);
            wanted.clear();
        } finally {
            lock.unlock();
        }
        running = null;
        left.forEach(w -> failed(w, new ScrubTally(), "its disk is out of service"));
    }

    // ---- which one ----------------------------------------------------------------------------

    /** Waits for one; null when it is closed, or the disk is out. */
    private @Nullable Wanted next() throws InterruptedException {
        while (true) {
            Wanted due = look();
            lock.lock();
            try {
                if (closed || disk.isOut()) {
                    return null;
                }
                Wanted asked = wanted.poll();
                if (asked != null) {
                    return asked;
                }
                if (due != null) {
                    return due;
                }
                var _ = changed.awaitNanos(LOOK_NANOS);
            } finally {
                lock.unlock();
            }
        }
    }

    /** Looks at all groups; returns the one that waits longest, if any is due. */
    private @Nullable Wanted look() throws InterruptedException {
        if (disk.isOut()) {
            return null;
        }
        try {
            return look(primaries());
        } catch (IndexDamagedException e) {
            LOG.error("Disk {}: its index cannot be read, no scrub begins", disk.id(), e);
            return null;
        }
    }

    private @Nullable Wanted look(List<Integer> pgs) {
        long now = System.currentTimeMillis();
        found.keySet().retainAll(pgs);
        Ages seen = Ages.NONE;
        List<String> texts = new ArrayList<>();
        Wanted next = null;
        long nextDue = Long.MAX_VALUE;
        for (int pg : pgs) {
            ScrubStamps stamps = stamps(pg, now);
            boolean forgotten = stamps.differences() > 0 && !found.containsKey(pg);
            seen =
                    new Ages(
                            seen.groups + 1,
                            Math.min(seen.lightMillis, stamps.ageFromMillis(false)),
                            Math.min(seen.deepMillis, stamps.ageFromMillis(true)),
                            seen.neverDeep + (stamps.deepMillis() == 0 ? 1 : 0),
                            seen.earlier + (forgotten ? stamps.differences() : 0));
            if (forgotten) {
                texts.addAll(disk.store().findings(pg));
            }
            boolean deep = forgotten || schedule.isDue(pg, stamps, true, now);
            boolean early = forgotten || again.contains(pg);
            long due = early ? 0 : schedule.dueMillis(pg, stamps, deep);
            boolean isDue = deep || early || schedule.isDue(pg, stamps, false, now);
            if (isDue && due < nextDue && mayTry(pg)) {
                next = new Wanted(pg, deep, null);
                nextDue = due;
            }
        }
        ages = seen;
        earlierTexts = List.copyOf(texts);
        publish();
        return held.getAsBoolean() ? null : next;
    }

    private boolean mayTry(int pg) {
        Long from = notBeforeNanos.get(pg);
        return from == null || System.nanoTime() - from >= 0;
    }

    private List<Integer> primaries() throws InterruptedException {
        List<Integer> pgs = new ArrayList<>();
        try {
            loops.primaries()
                    .get(LOOK_NANOS, TimeUnit.NANOSECONDS)
                    .forEach((pg, where) -> {
                        if (where == disk) {
                            pgs.add(pg);
                        }
                    });
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("Disk {}: its groups are not known now", disk.id(), e);
        }
        return pgs;
    }

    private ScrubStamps stamps(int pg, long nowMillis) {
        ScrubStamps known = disk.store().scrubStamps(pg);
        if (known == null) {
            known = new ScrubStamps(nowMillis, 0, 0, 0);
            disk.store().noteScrub(pg, known);
        }
        return known;
    }

    // ---- one scrub ----------------------------------------------------------------------------

    private void scrub(Wanted w) throws InterruptedException {
        ScrubTally tally = new ScrubTally();
        running = w.deep;
        if (w.run != null) {
            w.run.begins(tally);
        }
        long began = System.currentTimeMillis();
        try {
            ScrubGroup group = ScrubGroup.begin(loops.owner(w.pg), disk, checks, w.pg);
            BooleanSupplier goOn = () -> w.run != null || !held.getAsBoolean();
            OrphanLook orphans = new OrphanLook(group, owners);
            new GroupScrub(group, w.deep, tally, orphans, goOn).run();
            ended(w, tally, group, began);
        } catch (ScrubStopped e) {
            failed(w, tally, String.valueOf(e.getMessage()));
        }
    }

    private void ended(Wanted w, ScrubTally tally, ScrubGroup group, long beganMillis)
            throws InterruptedException {
        List<ScrubDifference> now = new ArrayList<>(tally.counts().differences());
        if (!w.deep) { // which does not see what differs within chunks
            found.getOrDefault(w.pg, List.of()).stream()
                    .filter(ScrubDifference::isOfContent)
                    .forEach(now::add);
        }
        for (ScrubDifference difference : tally.counts().differences()) {
            LOG.error("Scrub: {}", difference.text());
        }
        ScrubStamps before = stamps(w.pg, beganMillis);
        boolean knowsAll = w.deep || before.differences() == 0 || found.containsKey(w.pg);
        int differences = knowsAll ? now.size() : Math.max(before.differences(), now.size());
        ScrubStamps stamps = before.scrubbed(w.deep, beganMillis, differences);
        disk.store().noteScrub(w.pg, stamps);
        if (knowsAll) { // else what an earlier process found is kept until a deep scrub
            disk.store().noteFindings(w.pg, now.stream().map(ScrubDifference::text).toList());
            found.put(w.pg, now);
        }
        group.scrubbed(stamps);
        notBeforeNanos.remove(w.pg);
        meters.scrubbed(w.deep, tally.counts().bytes(), tally.counts().differences().size());
        mend(w.pg, now, group);
        publish();
        LOG.debug("Placement group {} is scrubbed: {}", Integer.toHexString(w.pg), tally.counts());
        if (w.run != null) {
            w.run.ended(w.pg, tally);
        }
    }

    /** One member at a time; none of which there is any doubt who is right. */
    private void mend(int pg, List<ScrubDifference> now, ScrubGroup group)
            throws InterruptedException {
        again.remove(pg);
        Map<Integer, List<ScrubDifference>> byMember =
                now.stream().collect(Collectors.groupingBy(ScrubDifference::member));
        for (Map.Entry<Integer, List<ScrubDifference>> member : byMember.entrySet()) {
            try {
                if (member.getValue().stream().allMatch(ScrubDifference::isLack)
                        && group.memberStale(member.getKey())) {
                    LOG.warn(
                            "Placement group {}: disk {} lacks what others have: it leaves the"
                                    + " in-sync set, and gets it from disk {}",
                            Integer.toHexString(pg),
                            member.getKey(),
                            disk.id());
                    again.add(pg);
                    notBeforeNanos.put(pg, System.nanoTime() + AGAIN_NANOS);
                    return;
                }
            } catch (ScrubStopped e) {
                LOG.debug("Disk {} is not copied to now", member.getKey(), e);
            }
        }
    }

    private void failed(Wanted w, ScrubTally tally, String why) {
        LOG.info(
                "The scrub of placement group {} did not come to its end, it is tried again: {}",
                Integer.toHexString(w.pg),
                why);
        notBeforeNanos.put(w.pg, System.nanoTime() + RETRY_NANOS);
        if (w.run != null) {
            w.run.failed(w.pg, tally, why);
        }
    }

    private void publish() {
        differences = found.values().stream().flatMap(List::stream).toList();
    }

    /** Ends what is running. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signal();
        } finally {
            lock.unlock();
        }
        thread.interrupt();
        try {
            if (!thread.join(CLOSE)) {
                LOG.warn("Disk {}: a scrub did not end in time", disk.id());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
