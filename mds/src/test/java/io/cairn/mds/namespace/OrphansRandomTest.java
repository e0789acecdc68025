package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.OrphanedDataTest.fast;
import static io.cairn.mds.namespace.OrphanedDataTest.pg;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.OrphansChangedEntry;
import io.cairn.mds.proto.OrphansFoundEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients, scrubs, the removal of what is orphaned and the reaper, each of several steps that come
 * between those of the others, on a model of the placement groups. What a file has is never
 * deleted, and in the end nothing is left that belongs to no file. {@code -Dcairn.test.seed} and
 * {@code -Dcairn.test.steps}.
 */
class OrphansRandomTest {
    private static final int STEPS = Integer.getInteger("cairn.test.steps", 6000);
    private static final int[] POOLS = {1, 2};
    private static final int GROUPS = 3;
    private static final int SESSIONS = 3;

    private final long seed = TestSeed.of("OrphansRandomTest");
    private final Random random = new Random(seed);

    @TempDir Path directory;

    @SuppressWarnings("NullAway.Init") // by the test
    private StateRig rig;

    /** Of each placement group, the inodes that it has data of. */
    private final Map<Integer, TreeSet<Long>> groups = new TreeMap<>();

    /** Files that exist, with a name or open, and the pools of their data. */
    private final Map<Long, File> files = new TreeMap<>();

    private final List<Long> dead = new ArrayList<>();
    private final List<Long> directories = new ArrayList<>();
    private final List<Long> sessions = new ArrayList<>();
    private final Set<Long> ofTheFuture = new HashSet<>();
    private final List<Runnable> later = new ArrayList<>();
    private long highestReported;
    private int clients;
    private int removed;

    private static final class File {
        private int pool = 1;
        private boolean written;
        private @Nullable String name;
        private final Map<Long, Integer> opens = new HashMap<>();
    }

    @Test
    void whatAFileHasIsNeverDeletedAndTheRestIs() throws Exception {
        rig = StateRig.formatted(directory);
        assertThat(OrphanedDataTest.change(rig, fast()).getErrno()).isZero();
        for (int pool : POOLS) {
            for (int i = 0; i < GROUPS; i++) {
                groups.put(pg(pool, i), new TreeSet<>());
            }
        }
        for (int i = 0; i < SESSIONS; i++) {
            sessions.add(rig.openSession(++clients));
        }
        try {
            for (int i = 0; i < STEPS; i++) {
                step();
            }
            settle();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed, e);
        }
        rig.close();
        assertThat(removed).as("orphans removed with seed %d", seed).isPositive();
    }

    private void step() {
        switch (random.nextInt(16)) {
            case 0, 1 -> create();
            case 2, 3 -> unlink();
            case 4 -> open();
            case 5, 6 -> release();
            case 7, 8 -> write();
            case 9 -> move();
            case 10 -> strayWrite();
            case 11 -> endSession();
            case 12 -> look(any(new ArrayList<>(groups.keySet())));
            case 13 -> remove();
            case 14 -> reap();
            default -> {
                if (!later.isEmpty()) {
                    later.remove(random.nextInt(later.size())).run();
                }
            }
        }
    }

    private <T> T any(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private @Nullable Long anyFile() {
        return files.isEmpty() ? null : any(new ArrayList<>(files.keySet()));
    }

    private File file(long inode) {
        return Objects.requireNonNull(files.get(inode));
    }

    private TreeSet<Long> group(int pg) {
        return Objects.requireNonNull(groups.get(pg));
    }

    /** That is served: one that was evicted neither writes nor closes. */
    private @Nullable Long anyHolder(File file) {
        List<Long> holders = sessions.stream().filter(file.opens::containsKey).toList();
        return holders.isEmpty() ? null : any(holders);
    }

    // ---- clients --------------------------------------------------------------------------------

    private void create() {
        long session = any(sessions);
        boolean open = random.nextBoolean();
        String name = "f" + random.nextInt(1_000_000);
        if (random.nextInt(8) == 0) {
            MutationResult made = rig.mutate(session, Ops.mkdir(ROOT_INODE, name));
            assertThat(made.getErrno()).isZero();
            directories.add(isNew(made.getAttr().getInode()));
            return;
        }
        MutationResult made = rig.mutate(session, Ops.create(ROOT_INODE, name, 0644, true, open));
        if (made.getErrno() == 0) {
            File file = new File();
            file.name = name;
            if (open) {
                file.opens.put(session, 1);
            }
            files.put(isNew(made.getAttr().getInode()), file);
        }
    }

    /** A new inode meets no data that the metadata service has heard of; other data it may. */
    private long isNew(long inode) {
        assertThat(inode).isGreaterThan(highestReported);
        ofTheFuture.remove(inode);
        return inode;
    }

    private void unlink() {
        Long inode = anyFile();
        if (inode != null && file(inode).name != null) {
            File file = file(inode);
            String name = Objects.requireNonNull(file.name);
            assertThat(rig.mutate(any(sessions), Ops.unlink(ROOT_INODE, name)).getErrno()).isZero();
            file.name = null;
            forget(inode, file);
        }
    }

    private void forget(long inode, File file) {
        if (file.name == null && file.opens.isEmpty()) {
            files.remove(inode);
            dead.add(inode);
        }
    }

    private void open() {
        Long inode = anyFile();
        if (inode != null && file(inode).name != null) {
            long session = any(sessions);
            assertThat(rig.mutate(session, Ops.open(inode)).getErrno()).isZero();
            file(inode).opens.merge(session, 1, Integer::sum);
        }
    }

    private void release() {
        Long inode = anyFile();
        Long session = inode == null ? null : anyHolder(file(inode));
        if (inode == null || session == null) {
            return;
        }
        File file = file(inode);
        assertThat(rig.mutate(session, Ops.release(inode)).getErrno()).isZero();
        if (file.opens.merge(session, -1, Integer::sum) == 0) {
            file.opens.remove(session);
        }
        forget(inode, file);
    }

    /** By one that has it open: it is data of the file from then on. */
    private void write() {
        Long inode = anyFile();
        Long session = inode == null ? null : anyHolder(file(inode));
        if (inode == null || session == null) {
            return;
        }
        File file = file(inode);
        assertThat(rig.mutate(session, Ops.grow(inode, 1000)).getErrno()).isZero();
        group(pg(file.pool, random.nextInt(GROUPS))).add(inode);
        file.written = true;
    }

    /** To the other pool; a file that had data, or is open, stays. */
    private void move() {
        Long inode = anyFile();
        if (inode == null || file(inode).name == null) {
            return;
        }
        File file = file(inode);
        int pool = 3 - file.pool;
        Errno errno =
                Errno.of(
                        rig.mutate(
                                        any(sessions),
                                        Ops.setXattr(
                                                inode, "cairn.layout", name("pool=" + pool), 0))
                                .getErrno());
        if (errno == Errno.OK) {
            assertThat(file.written).isFalse();
            file.pool = pool;
        }
    }

    /** What should not happen: late, to the wrong pool, or of a namespace that is no more. */
    private void strayWrite() {
        List<Long> ids = new ArrayList<>(dead);
        ids.addAll(files.keySet());
        ids.addAll(directories);
        long inode = ids.isEmpty() ? ROOT_INODE : any(ids);
        if (random.nextInt(10) == 0) {
            inode = rig.state.maxInode() + 1 + random.nextInt(20);
            ofTheFuture.add(inode);
        }
        group(pg(any(List.of(1, 2)), random.nextInt(GROUPS))).add(inode);
    }

    private void endSession() {
        if (random.nextInt(5) != 0) {
            return;
        }
        long session = sessions.remove(random.nextInt(sessions.size()));
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
        sessions.add(rig.openSession(++clients));
        later.add(() -> {
            rig.apply(
                    rig.entry()
                            .setReleaseSession(
                                    ReleaseSessionEntry.newBuilder().setSession(session)));
            for (Map.Entry<Long, File> e : new ArrayList<>(files.entrySet())) {
                e.getValue().opens.remove(session);
                forget(e.getKey(), e.getValue());
            }
        });
    }

    // ---- scrub ----------------------------------------------------------------------------------

    /** The list, the question, the second look and the report, each at a time of its own. */
    private void look(int pg) {
        List<Long> listed = List.copyOf(group(pg));
        later.add(() -> {
            List<Long> orphans =
                    rig.state.orphansAmong(pg >>> 16, listed).stream().map(listed::get).toList();
            List<Long> there = orphans.stream().filter(group(pg)::contains).toList();
            later.add(() -> report(pg, listed.size(), there));
        });
    }

    private void report(int pg, int inodes, List<Long> orphans) {
        OrphansFoundEntry.Builder entry =
                OrphansFoundEntry.newBuilder().setPg(pg).setInodes(inodes).setBytes(inodes);
        for (long inode : orphans) {
            entry.addFound(FoundOrphan.newBuilder().setInode(inode).setChunks(1).setBytes(1));
            highestReported = Math.max(highestReported, inode);
        }
        assertThat(rig.apply(rig.entry().setOrphansFound(entry)).getErrno()).isZero();
    }

    // ---- removal and reaper ---------------------------------------------------------------------

    private void remove() {
        OrphansChangedEntry.Builder entry = OrphansChangedEntry.newBuilder().setRemove(true);
        for (OrphanedInode orphan : rig.state.orphanedData(0, 0, 1000)) {
            if (orphan.isProven(0)) {
                entry.addOrphans(
                        OrphanId.newBuilder().setPool(orphan.pool()).setInode(orphan.inode()));
            }
        }
        later.add(() -> rig.apply(rig.entry().setOrphansChanged(entry)));
    }

    /** As the reaper does: what it read some time ago is deleted group by group, then taken off. */
    private void reap() {
        for (DeletionRecord record : rig.state.deletions(0, 3)) {
            int pool = record.getLayout().getPool();
            List<Integer> left = new ArrayList<>();
            for (int i = 0; i < GROUPS; i++) {
                left.add(pg(pool, i));
            }
            later.add(() -> deleteIn(left, record));
        }
    }

    private void deleteIn(List<Integer> left, DeletionRecord record) {
        int pg = left.remove(random.nextInt(left.size()));
        File file = files.get(record.getInode());
        assertThat(file != null && file.pool == pg >>> 16)
                .as("a file loses its data: inode %d in group %x", record.getInode(), pg)
                .isFalse();
        if (group(pg).remove(record.getInode()) && record.getOrphan()) {
            assertThat(ofTheFuture).doesNotContain(record.getInode());
            removed++;
        }
        later.add(() -> {
            if (!left.isEmpty()) {
                deleteIn(left, record);
                return;
            }
            ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
            if (record.getOrphan()) {
                reaped.addOrphans(record.getSequence());
            } else {
                reaped.addInodes(record.getInode());
            }
            rig.apply(rig.entry().setReaped(reaped));
        });
    }

    // ---- the end --------------------------------------------------------------------------------

    /**
     * Clients rest; what is under way ends, and then looks, removal and reaper have their turns.
     */
    private void settle() {
        for (int round = 0; round < 4; round++) {
            finish();
            groups.keySet().forEach(this::look);
            finish();
            groups.keySet().forEach(this::look);
            finish();
            remove();
            finish();
            while (!rig.state.deletions(0, 1).isEmpty()) {
                reap();
                finish();
            }
        }
        groups.forEach((pg, inodes) -> {
            for (long inode : inodes) {
                File file = files.get(inode);
                boolean owned = file != null && file.pool == pg >>> 16;
                assertThat(
                                owned
                                        || ofTheFuture.contains(inode)
                                        || directories.contains(inode)
                                        || inode == ROOT_INODE)
                        .as("left: inode %d in group %x", inode, pg)
                        .isTrue();
            }
        });
        for (OrphanedInode orphan : rig.state.orphanedData(0, 0, 1000)) {
            assertThat(orphan.owner().isRemovable()).isFalse();
        }
    }

    private void finish() {
        while (!later.isEmpty()) {
            later.remove(random.nextInt(later.size())).run();
        }
    }
}
