package io.cairn.mds.background;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.OrphanCount;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.OrphanState;
import io.cairn.common.proto.OrphanSummary;
import io.cairn.common.proto.Pool;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.OrphanPolicy;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.OrphanedInode;
import io.cairn.mds.namespace.Ownership;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.proto.OrphansChangedEntry;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what is known of orphaned data, and puts what is proven into the deletion queue if that is
 * to happen without being asked. Not where the metadata service may have forgotten files: where it
 * is older than its data servers, where ids are found that it never gave out, or where more of a
 * pool is orphaned than some share. And never what a file that exists has in a pool that is not
 * its: it may have moved there.
 *
 * <p>The control thread only, except for what says otherwise.
 */
public final class OrphanRemoval implements StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(OrphanRemoval.class);

    /** Also read at a time. */
    public static final int BATCH = 1024;

    /** Times as long as counting takes, other work has the control thread before the next count. */
    private static final int REST = 20;

    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;
    private final NanoClock clock;
    private final LongSupplier newerEpoch;
    private volatile boolean changed = true;
    private volatile OrphanSummary summary = OrphanSummary.getDefaultInstance();
    private OrphanPolicy counted = new OrphanPolicy(0, false, 0);
    private long newerEpochCounted;
    private long notBeforeNanos;
    private boolean removing;
    private long tenure;

    /**
     * @param newerEpoch of a data server, not known here; 0: there is none
     */
    public OrphanRemoval(
            EntryLog entries,
            ControlReader state,
            Control control,
            NanoClock clock,
            LongSupplier newerEpoch) {
        this.entries = entries;
        this.state = state;
        this.control = control;
        this.clock = clock;
        this.newerEpoch = newerEpoch;
    }

    /** On becoming leader. */
    public void begin() {
        tenure++;
        removing = false;
        changed = true;
        notBeforeNanos = clock.nanos();
    }

    /** Any thread. */
    @Override
    public void orphansChanged() {
        changed = true;
    }

    /** Any thread. */
    @Override
    public void restored() {
        changed = true;
    }

    /** A sign that the metadata service is older than the data; empty: none. Any thread. */
    public String older() {
        long epoch = newerEpoch.getAsLong();
        return epoch == 0 ? "" : older(epoch);
    }

    private String older(long epoch) {
        return "data servers have map epoch %d, the metadata service %d: it is older than the data, as if restored from a backup"
                .formatted(epoch, state.map().epoch());
    }

    /** As counted last. Any thread. */
    public OrphanSummary summary() {
        return summary;
    }

    public void tick() {
        long now = clock.nanos();
        if (now - notBeforeNanos < 0) {
            return;
        }
        OrphanPolicy policy = OrphanPolicy.of(state.settings());
        long epoch = newerEpoch.getAsLong();
        if (!removing && (changed || !policy.equals(counted) || epoch != newerEpochCounted)) {
            changed = false;
            counted = policy;
            newerEpochCounted = epoch;
            count(policy);
            long ended = clock.nanos();
            notBeforeNanos = ended + REST * (ended - now);
        }
    }

    private void count(OrphanPolicy policy) {
        Count count = new Count();
        List<OrphanedInode> proven = new ArrayList<>();
        List<OrphanedInode> page;
        OrphanedInode last = null;
        do {
            page =
                    state.orphanedData(
                            last == null ? 0 : last.pool(), last == null ? 0 : last.inode(), BATCH);
            for (OrphanedInode orphan : page) {
                count.add(orphan, policy);
                if (stateOf(orphan, policy) == OrphanState.ORPHAN_PROVEN
                        && orphan.owner() == Ownership.NOBODY
                        && proven.size() < BATCH) {
                    proven.add(orphan);
                }
            }
            last = page.isEmpty() ? last : page.getLast();
        } while (page.size() == BATCH);
        Map<Integer, String> holds = holds(policy, count);
        summary =
                count.summary(policy, policy.automatic() ? List.copyOf(holds.values()) : List.of());
        proven.removeIf(o -> holds.containsKey(o.pool()));
        if (policy.automatic()
                && !proven.isEmpty()
                && count.of(OrphanState.ORPHAN_REMOVING) == 0
                && Features.level(state.settings()) >= Features.GROWTH) {
            remove(proven);
        }
    }

    /** What an administrator is shown of one. */
    static OrphanState stateOf(OrphanedInode orphan, OrphanPolicy policy) {
        if (orphan.isRemoving()) {
            return OrphanState.ORPHAN_REMOVING;
        }
        if (orphan.record().getKept()) {
            return OrphanState.ORPHAN_KEPT;
        }
        return switch (orphan.owner()) {
            case NEVER_GIVEN_OUT -> OrphanState.ORPHAN_NEVER_GIVEN_OUT;
            case NO_REGULAR_FILE -> OrphanState.ORPHAN_NO_REGULAR_FILE;
            // Of a file, deleted or not, it is until the next look forgets it.
            case OWNED, QUEUED -> OrphanState.ORPHAN_SUSPECTED;
            case NOBODY, OTHER_POOL ->
                    orphan.isProven(policy.ageSeconds())
                            ? OrphanState.ORPHAN_PROVEN
                            : OrphanState.ORPHAN_SUSPECTED;
        };
    }

    // ---- why not ----------------------------------------------------------------

    /** Why nothing of a pool is removed without being asked, by pool, for an administrator. */
    private Map<Integer, String> holds(OrphanPolicy policy, Count count) {
        ClusterMap map = state.map();
        Map<Integer, Share> shares = new TreeMap<>();
        state.orphanLooks()
                .forEach((pg, look) -> {
                    Pool pool = map.pool(PgHash.poolOf(pg));
                    if (pool != null && PgHash.indexOf(pg) < pool.getPgCount()) {
                        shares.computeIfAbsent(pool.getId(), _ -> new Share()).add(look);
                    }
                });
        Map<Integer, String> holds = new TreeMap<>();
        for (Pool pool : map.pools()) {
            Share share = shares.getOrDefault(pool.getId(), new Share());
            if (newerEpochCounted != 0) {
                holds.put(pool.getId(), older(newerEpochCounted));
            } else if (count.strangePools.contains(pool.getId())) {
                holds.put(
                        pool.getId(),
                        "pool %s has data of ids that the metadata service never gave out, as if it were older than the data: 'cairn orphans keep' says that this is as it should be"
                                .formatted(pool.getName()));
            } else if (share.isAbove(policy.sharePermille())) {
                holds.put(
                        pool.getId(),
                        "%s of pool %s is orphaned, more than orphans.max_share (%s)"
                                .formatted(share.text(), pool.getName(), policy.share()));
            }
        }
        return holds;
    }

    /** How much of a pool is orphaned, by the last looks at its placement groups. */
    private static final class Share {
        private long inodes;
        private long bytes;
        private long orphans;
        private long orphanBytes;

        void add(OrphanLookRecord look) {
            inodes += look.getInodes();
            bytes += look.getBytes();
            orphans += look.getOrphans();
            orphanBytes += look.getOrphanBytes();
        }

        private double share() {
            return Math.max(
                    inodes == 0 ? 0 : (double) orphans / inodes,
                    bytes == 0 ? 0 : (double) orphanBytes / bytes);
        }

        boolean isAbove(int permille) {
            return share() > permille / 1000.0;
        }

        String text() {
            return "%.1f%%".formatted(100 * share());
        }
    }

    // ---- counting ---------------------------------------------------------------

    private static final class Count {
        private final Map<OrphanState, OrphanCount> counts = new EnumMap<>(OrphanState.class);
        private final TreeSet<Integer> strangePools = new TreeSet<>();

        void add(OrphanedInode orphan, OrphanPolicy policy) {
            OrphanState state = stateOf(orphan, policy);
            OrphanCount before = counts.getOrDefault(state, OrphanCount.getDefaultInstance());
            counts.put(
                    state,
                    before.toBuilder()
                            .setInodes(before.getInodes() + 1)
                            .setBytes(before.getBytes() + orphan.bytes())
                            .build());
            if (state == OrphanState.ORPHAN_NEVER_GIVEN_OUT) {
                strangePools.add(orphan.pool());
            }
        }

        long of(OrphanState state) {
            return get(state).getInodes();
        }

        private OrphanCount get(OrphanState state) {
            return counts.getOrDefault(state, OrphanCount.getDefaultInstance());
        }

        OrphanSummary summary(OrphanPolicy policy, List<String> holds) {
            OrphanCount never = get(OrphanState.ORPHAN_NEVER_GIVEN_OUT);
            OrphanCount other = get(OrphanState.ORPHAN_NO_REGULAR_FILE);
            return OrphanSummary.newBuilder()
                    .setSuspected(get(OrphanState.ORPHAN_SUSPECTED))
                    .setProven(get(OrphanState.ORPHAN_PROVEN))
                    .setKept(get(OrphanState.ORPHAN_KEPT))
                    .setStrange(
                            OrphanCount.newBuilder()
                                    .setInodes(never.getInodes() + other.getInodes())
                                    .setBytes(never.getBytes() + other.getBytes()))
                    .setRemoving(get(OrphanState.ORPHAN_REMOVING))
                    .setAutomatic(policy.automatic())
                    .addAllHolds(holds)
                    .build();
        }
    }

    // ---- removal ----------------------------------------------------------------

    private void remove(List<OrphanedInode> proven) {
        OrphansChangedEntry.Builder entry = OrphansChangedEntry.newBuilder().setRemove(true);
        for (OrphanedInode orphan : proven) {
            entry.addOrphans(OrphanId.newBuilder().setPool(orphan.pool()).setInode(orphan.inode()));
        }
        removing = true;
        long mine = tenure;
        var _ =
                entries.submit(LogEntry.newBuilder().setOrphansChanged(entry))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (mine != tenure) {
                                        return;
                                    }
                                    removing = false;
                                    changed = true;
                                    if (failure != null || reply.getErrno() != 0) {
                                        LOG.warn(
                                                "proven orphaned data is not removed yet", failure);
                                        return;
                                    }
                                    said(proven);
                                },
                                control);
    }

    /** The last that anybody hears of them: by name. */
    private static void said(List<OrphanedInode> removed) {
        for (OrphanedInode orphan : removed) {
            LOG.info(
                    "orphaned data of inode {} in pool {} ({} bytes, first found at {} s) is removed",
                    Long.toHexString(orphan.inode()),
                    orphan.pool(),
                    orphan.bytes(),
                    orphan.record().getFirstSeen().getSeconds());
        }
    }
}
