package io.cairn.mds.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.store.DirectoryGaps.Gap;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Listings that pass over what was removed leave nothing out, of whichever state they are. */
class GapsTest {
    private static final long D = 7;
    private static final long FIRST = 3;
    private static final long SEED = TestSeed.of("GapsTest");
    private static final int ROUNDS = 150;
    private static final int READERS = 3;

    @TempDir Path directory;

    private MetaStore store;
    private long index;
    private long nextSequence = FIRST;
    private final NavigableSet<Long> present = new TreeSet<>();

    /** What the directory has after each entry. */
    private final Map<Long, NavigableSet<Long>> states = new ConcurrentHashMap<>();

    @BeforeEach
    void open() throws IOException {
        store =
                MetaStore.open(
                        directory,
                        new MetaStateConfig(
                                RocksConfig.defaults(),
                                new RocksMemory(new ByteSize(128 << 20), new ByteSize(64 << 20)),
                                Meters.unpublished(),
                                reason -> {
                                    throw new AssertionError(reason);
                                },
                                1000));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private void commit(int added, NavigableSet<Long> removed) {
        StateTx tx = new StateTx(store, Time.EPOCH);
        List.copyOf(removed)
                .forEach(cursor -> {
                    tx.removeEntry(D, name(cursor), new Dentry(1, cursor, Mode.REGULAR));
                    present.remove(cursor);
                });
        for (int i = 0; i < added; i++) {
            tx.putEntry(D, name(nextSequence), new Dentry(1, nextSequence, Mode.REGULAR));
            present.add(nextSequence++);
        }
        Inode inode = new Inode(D);
        inode.mode = Mode.DIRECTORY;
        inode.nextSequence = nextSequence;
        tx.add(inode);
        states.put(++index, new TreeSet<>(present));
        store.commit(tx, 1, index);
    }

    private static ByteString name(long cursor) {
        return ByteString.copyFromUtf8("n" + cursor);
    }

    private void assertListed(MetaView view, long after, int maxBytes) {
        List<Long> listed = new ArrayList<>();
        long cursor = after;
        for (boolean end = false; !end; ) {
            ReadDirReply reply = DirectoryListing.read(view, D, cursor, maxBytes, false);
            for (DirEntry entry : reply.getEntriesList()) {
                cursor = entry.getCursor();
                listed.add(cursor);
            }
            end = reply.getEnd();
        }
        assertThat(listed)
                .as("after %s of entry %s", after, view.index())
                .containsExactlyElementsOf(
                        Objects.requireNonNull(states.get(view.index())).tailSet(after, false));
    }

    @Test
    void anEarlierStateStillHasWhatALaterOneHasNot() {
        commit(5000, new TreeSet<>());
        try (MetaView earlier = store.view()) {
            commit(10, new TreeSet<>(present));
            try (MetaView later = store.view()) {
                assertListed(later, 0, Integer.MAX_VALUE);
            }
            assertThat(store.gaps().of(D)).containsExactly(new Gap(1, FIRST + 5000, 2));
            assertListed(earlier, 0, Integer.MAX_VALUE);
        }
    }

    @Test
    void whatIsAddedBehindAnEmptyDirectoryIsListed() {
        commit(5000, new TreeSet<>());
        commit(0, new TreeSet<>(present));
        for (int i = 0; i < 2; i++) {
            try (MetaView view = store.view()) {
                assertListed(view, 0, Integer.MAX_VALUE);
            }
            commit(1, new TreeSet<>());
        }
        assertThat(store.gaps().of(D)).containsExactly(new Gap(1, FIRST + 5000, 2));
    }

    @Test
    void cursorsThatAreMadeUpTeachNothing() {
        commit(5, new TreeSet<>());
        for (long madeUp : List.of(-5000L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 40)) {
            try (MetaView view = store.view()) {
                DirectoryListing.read(view, D, madeUp, Integer.MAX_VALUE, false);
                assertListed(view, 0, Integer.MAX_VALUE);
            }
        }
        assertThat(store.gaps().of(D)).isEmpty();
    }

    @Test
    void gapsThatAdjoinBecomeOneAndTheNarrowestIsForgotten() {
        DirectoryGaps gaps = new DirectoryGaps(2);
        gaps.found(D, 10_000, 20_000, 1);
        gaps.found(D, 30_000, 40_000, 3);
        assertThat(gaps.of(D))
                .containsExactly(new Gap(10_000, 20_000, 1), new Gap(30_000, 40_000, 3));
        gaps.found(D, 20_000, 30_000, 2);
        assertThat(gaps.of(D)).containsExactly(new Gap(10_000, 40_000, 3));
        assertThat(DirectoryGaps.skip(gaps.of(D), 10_000, 3)).isEqualTo(40_000);
        assertThat(DirectoryGaps.skip(gaps.of(D), 9_999, 3)).isEqualTo(9_999);
        assertThat(DirectoryGaps.skip(gaps.of(D), 40_000, 3)).isEqualTo(40_000);
        assertThat(DirectoryGaps.skip(gaps.of(D), 10_000, 2)).isEqualTo(10_000);

        for (int i = 0; i < DirectoryGaps.PER_DIRECTORY; i++) {
            long from = 100_000 + 10_000L * i;
            gaps.found(D, from, from + 2000 + i, 4);
        }
        assertThat(gaps.of(D)).hasSize(DirectoryGaps.PER_DIRECTORY);
        assertThat(gaps.of(D)).doesNotContain(new Gap(100_000, 102_000, 4));

        gaps.found(D + 1, 0, 2000, 5);
        gaps.found(D + 2, 0, 2000, 5);
        assertThat(gaps.of(D)).isEmpty();
    }

    /** Entries come behind, and go where they are oldest, or anywhere. */
    @Test
    void listingsOfAllStatesAreRightWhileEntriesComeAndGo() throws Exception {
        Random random = new Random(SEED);
        commit(1, new TreeSet<>());
        AtomicBoolean stop = new AtomicBoolean();
        try (ExecutorService threads = Executors.newFixedThreadPool(READERS)) {
            List<Future<?>> readers = new ArrayList<>();
            for (int i = 0; i < READERS; i++) {
                Random own = new Random(SEED + 1 + i);
                readers.add(threads.submit(() -> read(own, stop)));
            }
            try {
                for (int i = 0; i < ROUNDS; i++) {
                    commit(random.nextInt(1500), someOf(random));
                }
            } finally {
                stop.set(true);
            }
            for (Future<?> reader : readers) {
                reader.get();
            }
        }
    }

    private NavigableSet<Long> someOf(Random random) {
        if (present.isEmpty()) {
            return new TreeSet<>();
        }
        long first = present.first();
        long from = random.nextBoolean() ? first : first + below(random, nextSequence - first);
        NavigableSet<Long> some = new TreeSet<>(present.subSet(from, true, from + 2000, false));
        if (random.nextInt(3) == 0 && !some.isEmpty()) {
            some.remove(some.first());
        }
        return some;
    }

    private static long below(Random random, long bound) {
        return (long) (random.nextDouble() * bound);
    }

    /** At least once, and of states that are not the newest any more too. */
    private void read(Random random, AtomicBoolean stop) {
        List<MetaView> views = new ArrayList<>();
        try {
            do {
                views.add(store.view());
                if (views.size() > 4) {
                    views.remove(random.nextInt(views.size())).close();
                }
                MetaView view = views.get(random.nextInt(views.size()));
                long end = Objects.requireNonNull(view.storedInode(D)).nextSequence;
                long after = random.nextBoolean() ? 0 : below(random, end + 10);
                assertListed(view, after, 5000 + random.nextInt(100_000));
            } while (!stop.get());
        } finally {
            views.forEach(MetaView::close);
        }
    }
}
