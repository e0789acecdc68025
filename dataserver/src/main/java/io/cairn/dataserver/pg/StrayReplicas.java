package io.cairn.dataserver.pg;

import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what disks of this server have of placement groups that live elsewhere now. Only where
 * the map, under a valid lease, names neither as replica nor as member, and all replicas that it
 * names are in sync, or says that the pool was removed, or that the group was merged into another
 * one and no merge that is logged here needs it: then nobody can need what is here. What is here of
 * a newer map is none of it: a split makes a group when the loop of its parent has that. One at a
 * time, a few inodes at a time.
 *
 * <p>A crash leaves a part, which is found again. What stays for good is the group's state, some
 * hundred bytes; of a group that was merged, that its history has ended. Called on the loop that
 * owns the groups.
 */
final class StrayReplicas {
    private static final Logger LOG = LoggerFactory.getLogger(StrayReplicas.class);

    /** Between two looks through the disks. */
    private static final long LOOK_NANOS = 5_000_000_000L;

    /** Between two parts of one replica: clients come first. */
    private static final long PAUSE_NANOS = 10_000_000L;

    private static final int PART = 128;

    private final PgLoop owner;
    private final ServerParts parts;
    private final IntPredicate mine;

    /** Found to hold nothing, since nothing was done with them. */
    private final Set<Long> empty = new HashSet<>();

    private @Nullable Removal running;
    private long lookedNanos = System.nanoTime();

    /**
     * @param mine whether the loop owns the PG
     */
    StrayReplicas(PgLoop owner, ServerParts parts, IntPredicate mine) {
        this.owner = owner;
        this.parts = parts;
        this.mine = mine;
    }

    /** A replica begins there: it may hold something from now on. */
    void begins(int pg, int disk) {
        empty.remove(PgLoop.key(pg, disk));
    }

    /**
     * Whether the store is dropping operations of it: a replica cannot begin before that is over.
     */
    boolean isDropping(int pg, int disk) {
        Removal now = running;
        return now != null && now.dropping && now.pg == pg && now.disk.id() == disk;
    }

    void tick(long nowNanos) {
        if (running == null && nowNanos - lookedNanos > LOOK_NANOS && parts.lease().valid()) {
            lookedNanos = nowNanos;
            look();
        }
    }

    private void look() {
        for (LocalDisk disk : parts.disks().values()) {
            if (disk.isOut()) {
                continue;
            }
            for (int pg : disk.store().pgs()) {
                boolean some = !empty.contains(PgLoop.key(pg, disk.id())) || isEnded(pg, disk);
                if (mine.test(pg)
                        && some
                        && livesElsewhere(pg, disk)
                        && owner.endIdle(pg, disk.id())) {
                    running = new Removal(pg, disk);
                    running.begin();
                    return;
                }
            }
        }
    }

    private boolean isStray(int pg, LocalDisk disk) {
        return owner.slot(pg, disk.id()) == null && livesElsewhere(pg, disk);
    }

    private boolean livesElsewhere(int pg, LocalDisk disk) {
        if (disk.isOut() || !parts.lease().valid()) {
            return false;
        }
        if (Merges.isNewer(owner.map(), disk.store().lastEpoch(pg))) {
            return false;
        }
        PlacementGroup group = owner.map().pg(pg);
        if (isEnded(pg, disk)) {
            return !disk.store().mayBeTakenIn(pg);
        }
        if (group == null) {
            return owner.map().isPoolRemoved(PgHash.poolOf(pg));
        }
        return !group.getReplicasList().contains(disk.id())
                && !group.getInSyncList().contains(disk.id())
                && group.getInSyncList().containsAll(group.getReplicasList());
    }

    /**
     * Whether what is here is of a group that was merged, though there may be another one by now.
     */
    private boolean isEnded(int pg, LocalDisk disk) {
        return Merges.isEnded(owner.map(), pg, disk.store().lastEpoch(pg));
    }

    /** Of one replica. Every step begins on the loop, and asks first whether it is stray still. */
    private final class Removal {
        final int pg;
        final LocalDisk disk;
        boolean dropping;
        private boolean removed;

        Removal(int pg, LocalDisk disk) {
            this.pg = pg;
            this.disk = disk;
        }

        private DiskStore store() {
            return disk.store();
        }

        void begin() {
            PgLogState state = store().logState(pg);
            if (state.isNeverCommitted() && isEnded(pg, disk)) {
                end(); // once its operations were dropped it would not be known for what it is
            } else if (state.lastSequence() > state.committedSequence()) {
                dropping = true;
                store().dropTail(pg, state.committedSequence(), () -> owner.execute(this::dropped));
            } else {
                discard();
            }
        }

        /** Meanwhile the map may have made it a replica again. */
        private void dropped() {
            dropping = false;
            owner.placeAgain(pg);
            then(this::discard).run();
        }

        private void discard() {
            if (store().logState(pg).content().isNothing()) {
                list();
            } else {
                LOG.info(
                        "Placement group {} on disk {}: lives elsewhere now, is removed",
                        name(),
                        disk.id());
                store().discard(pg, then(this::list));
            }
        }

        private void list() {
            disk.calls()
                    .call(
                            () -> store().heads(pg, Key.FIRST, PART),
                            heads -> then(() -> remove(heads)).run(),
                            failure -> {
                                LOG.warn(
                                        "{} on disk {}: cannot be listed",
                                        name(),
                                        disk.id(),
                                        failure);
                                owner.execute(() -> running = null);
                            });
        }

        private void remove(List<ContentHead> heads) {
            if (heads.isEmpty() && isEnded(pg, disk)) {
                end();
                return;
            }
            if (heads.isEmpty()) {
                empty.add(PgLoop.key(pg, disk.id()));
                running = null;
                lookedNanos = System.nanoTime() - LOOK_NANOS; // there may be more of them
                if (removed) {
                    LOG.info("Placement group {} on disk {}: is removed", name(), disk.id());
                }
                return;
            }
            removed = true;
            long[] inodes = heads.stream().mapToLong(h -> h.key().inode()).distinct().toArray();
            for (int i = 0; i < inodes.length; i++) {
                Runnable durable = i < inodes.length - 1 ? () -> {} : this::pause;
                store().removeContent(pg, inodes[i], durable);
            }
        }

        private void end() {
            store().end(pg, () -> owner.execute(this::gone));
        }

        private void gone() {
            LOG.info("Placement group {} on disk {}: was merged, is gone", name(), disk.id());
            running = null;
            lookedNanos = System.nanoTime() - LOOK_NANOS;
            owner.placeAgain(pg);
        }

        private void pause() {
            owner.execute(() -> owner.after(PAUSE_NANOS, then(this::list)));
        }

        /** Goes on on the loop, if it is stray still. */
        private Runnable then(Runnable step) {
            return () ->
                    owner.execute(() -> {
                        if (isStray(pg, disk)) {
                            step.run();
                        } else {
                            running = null;
                        }
                    });
        }

        private String name() {
            return Integer.toHexString(pg);
        }
    }
}
