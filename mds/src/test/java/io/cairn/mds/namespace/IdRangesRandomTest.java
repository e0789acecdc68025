package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.OrphanedDataTest.fast;
import static io.cairn.mds.namespace.OrphanedDataTest.pg;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.OrphansChangedEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients that send data for ids of their ranges before they make files with them, and are evicted
 * at any moment; scrubs that remove at once whatever they may; the reaper. No id is given out
 * twice, no data of a file or of an id that may become one is deleted, and in the end there is none
 * of any other id, without help by scrubs. {@code -Dcairn.test.seed} and {@code
 * -Dcairn.test.steps}.
 */
class IdRangesRandomTest {
    private static final int STEPS = Integer.getInteger("cairn.test.steps", 4000);
    private static final int SESSIONS = 4;
    private static final int[] POOLS = {1, 2};

    private final long seed = TestSeed.of("IdRangesRandomTest");
    private final Random random = new Random(seed);

    @TempDir Path directory;

    @SuppressWarnings("NullAway.Init") // by the test
    private StateRig rig;

    /** Inodes of which a pool has data. */
    private final Map<Integer, TreeSet<Long>> data = new TreeMap<>();

    private final Map<String, Long> files = new TreeMap<>();
    private final Set<Long> given = new TreeSet<>();
    private final List<Client> clients = new ArrayList<>();
    private int uuids;
    private int names;
    private int deletedUnused;

    private static final class Client {
        final long session;
        final List<IdRange> ranges = new ArrayList<>();

        /** It has used all ids up to this one. */
        long used;

        boolean evicted;

        Client(long session) {
            this.session = session;
        }

        /** Ids that it may use, ascending. */
        List<Long> unused() {
            return ranges.stream()
                    .flatMapToLong(r -> LongStream.rangeClosed(r.getFirst(), r.getLast()))
                    .filter(id -> id > used)
                    .boxed()
                    .toList();
        }

        boolean holds(long id) {
            return ranges.stream().anyMatch(r -> r.getFirst() <= id && id <= r.getLast());
        }
    }

    @Test
    void noIdIsGivenOutTwiceAndNoDataLostOrLeft() throws Exception {
        rig = StateRig.formatted(directory);
        assertThat(OrphanedDataTest.change(rig, fast()).getErrno()).isZero();
        Arrays.stream(POOLS).forEach(pool -> data.put(pool, new TreeSet<>()));
        given.add(ROOT_INODE);
        try {
            for (int i = 0; i < STEPS; i++) {
                while (clients.size() < SESSIONS) {
                    clients.add(new Client(rig.openSession(++uuids)));
                }
                step(clients.get(random.nextInt(SESSIONS)));
                check();
            }
            for (Client client : List.copyOf(clients)) {
                evict(client);
                release(client);
            }
            reap(Integer.MAX_VALUE);
            assertThat(data.values())
                    .allSatisfy(ids -> assertThat(files.values()).containsAll(ids));
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed, e);
        }
        rig.close();
        assertThat(deletedUnused).as("with seed %d", seed).isPositive();
    }

    private TreeSet<Long> dataOf(int pool) {
        return Objects.requireNonNull(data.get(pool));
    }

    private void step(Client client) {
        int what = random.nextInt(20);
        if (client.evicted) {
            if (what < 4) {
                send(client); // not refused everywhere yet
            } else if (what < 6) {
                release(client);
            } else {
                refused(client);
            }
            return;
        }
        switch (what) {
            case 0, 1 -> acquire(client);
            case 2, 3, 4 -> send(client);
            case 5, 6, 7, 8 -> makeOwn(client);
            case 9, 10 -> make(client);
            case 11, 12 -> unlink(client);
            case 13, 14 -> scrub();
            case 15, 16 -> reap(1 + random.nextInt(5));
            case 17 -> wrong(client);
            case 18 -> giveBackOrClose(client);
            default -> {
                if (random.nextInt(4) == 0) {
                    evict(client);
                }
            }
        }
    }

    private void acquire(Client client) {
        boolean full = client.ranges.stream().filter(r -> r.getLast() > client.used).count() >= 2;
        int count = 1 + random.nextInt(random.nextInt(10) == 0 ? 1024 : 8);
        MutationResult result = rig.mutate(client.session, Ops.acquireIds(count));
        assertThat(Errno.of(result.getErrno())).isEqualTo(full ? Errno.EBUSY : Errno.OK);
        if (!full) {
            IdRange range = result.getIds();
            client.ranges.removeIf(r -> r.getLast() <= client.used);
            client.ranges.add(range);
            for (long id = range.getFirst(); id <= range.getLast(); id++) {
                assertThat(given.add(id)).as("id %d", id).isTrue();
            }
        }
    }

    /** Before anything is made. */
    private void send(Client client) {
        List<Long> unused = client.unused();
        if (!unused.isEmpty()) {
            long id = unused.get(random.nextInt(Math.min(5, unused.size())));
            dataOf(POOLS[random.nextInt(POOLS.length)]).add(id);
        }
    }

    private boolean isSent(long id) {
        return data.values().stream().anyMatch(ids -> ids.contains(id));
    }

    private void makeOwn(Client client) {
        List<Long> unused = client.unused();
        if (unused.isEmpty()) {
            return;
        }
        int passed = 0;
        while (passed < unused.size() - 1
                && !isSent(unused.get(passed))
                && random.nextInt(4) == 0) {
            passed++;
        }
        long id = unused.get(passed);
        String name = "f" + names++;
        MutationResult result =
                rig.mutate(client.session, Ops.create(ROOT_INODE, name).setOwnInode(id));
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        assertThat(result.getAttr().getInode()).isEqualTo(id);
        client.used = id;
        files.put(name, id);
        dataOf(2).remove(id); // its layout names the first pool: it was sent there
    }

    private void make(Client client) {
        String name = "f" + names++;
        long id = rig.mutate(client.session, Ops.create(ROOT_INODE, name)).getAttr().getInode();
        assertThat(given.add(id)).as("id %d", id).isTrue();
        files.put(name, id);
        dataOf(1).add(id);
    }

    private void wrong(Client client) {
        long id = 1 + random.nextLong(rig.state.maxInode() + 10);
        if (!client.unused().contains(id)) {
            Mutation.Builder wrong = Ops.create(ROOT_INODE, "f" + names++).setOwnInode(id);
            assertThat(Errno.of(rig.mutate(client.session, wrong).getErrno()))
                    .isEqualTo(Errno.EINVAL);
        }
    }

    private void refused(Client client) {
        assertThat(rig.state.session(client.session)).isNotNull();
    }

    private void unlink(Client client) {
        if (!files.isEmpty()) {
            String name = List.copyOf(files.keySet()).get(random.nextInt(files.size()));
            files.remove(name);
            MutationResult result = rig.mutate(client.session, Ops.unlink(ROOT_INODE, name));
            assertThat(result.getErrno()).isZero();
        }
    }

    /** It has nothing in flight: what was sent for unused ids it must not leave. */
    private void giveBackOrClose(Client client) {
        if (client.unused().stream().anyMatch(this::isSent)) {
            return;
        }
        if (random.nextBoolean()) {
            rig.mutate(client.session, Ops.returnIds());
            client.ranges.clear();
        } else {
            rig.apply(
                    rig.entry()
                            .setCloseSession(
                                    CloseSessionEntry.newBuilder().setSession(client.session)));
            clients.remove(client);
        }
    }

    private void evict(Client client) {
        client.evicted = true;
        rig.apply(
                rig.entry()
                        .setEvictSession(
                                EvictSessionEntry.newBuilder().setSession(client.session)));
    }

    private void release(Client client) {
        while (rig.state.session(client.session) != null) {
            rig.apply(
                    rig.entry()
                            .setReleaseSession(
                                    ReleaseSessionEntry.newBuilder()
                                            .setSession(client.session)
                                            .setMaxOpens(1000)));
            scrub();
            check();
        }
        clients.remove(client);
    }

    /** Finds all there is, and removes what it may without waiting. */
    private void scrub() {
        data.forEach((pool, ids) -> {
            long[] found = ids.stream().mapToLong(Long::longValue).toArray();
            OrphanedDataTest.found(rig, pg(pool, 0), 0, found);
            OrphansChangedEntry.Builder remove = OrphansChangedEntry.newBuilder().setRemove(true);
            ids.forEach(id -> remove.addOrphans(OrphanId.newBuilder().setPool(pool).setInode(id)));
            rig.apply(rig.entry().setOrphansChanged(remove));
        });
        for (DeletionRecord record : rig.state.deletions(0, Integer.MAX_VALUE)) {
            assertThat(record.getOrphan()).as("orphaned: %s", record).isFalse();
        }
    }

    private void reap(int max) {
        ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
        for (DeletionRecord record : rig.state.deletions(0, max)) {
            int pool = record.getLayout().getPool();
            if (record.getLastInode() != 0) {
                boolean any =
                        dataOf(pool)
                                .removeIf(id ->
                                        record.getInode() <= id && id <= record.getLastInode());
                deletedUnused += any ? 1 : 0;
                reaped.addUnusedIds(record.getSequence());
            } else {
                dataOf(pool).remove(record.getInode());
                reaped.addInodes(record.getInode());
            }
        }
        rig.apply(rig.entry().setReaped(reaped));
    }

    /** What is queued is of no file, and of no id that a client may still use. */
    private void check() {
        Set<Long> alive = new TreeSet<>(files.values());
        for (DeletionRecord record : rig.state.deletions(0, Integer.MAX_VALUE)) {
            long last = Math.max(record.getInode(), record.getLastInode());
            for (long id = record.getInode(); id <= last; id++) {
                long queued = id;
                assertThat(alive).doesNotContain(queued);
                assertThat(clients)
                        .filteredOn(c -> rig.state.session(c.session) != null && !c.evicted)
                        .noneMatch(c -> c.holds(queued) && queued > c.used);
            }
        }
    }
}
