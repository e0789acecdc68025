package io.cairn.mds.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.mds.store.MetaStore.EntryKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ReadOptions;
import org.rocksdb.WriteBatch;

/**
 * What readers see between the steps of a commit, and what becomes of a commit between the steps of
 * a reader. All on one thread: a step lets the other side run when RocksDB has done its part.
 */
@Timeout(60)
class CommitStepsTest {
    private static final long D = 7;
    private static final long F = 8;
    private static final EntryKey NAME = new EntryKey(D, ByteString.copyFromUtf8("f"));

    @TempDir Path directory;

    private SteppedDatabase db;
    private MetaStore store;
    private long index;

    /** Runs what is set once, after the next write or read of a row. */
    private static final class SteppedDatabase extends MetaDatabase {
        private @Nullable Runnable afterWrite;
        private @Nullable Runnable afterGet;

        SteppedDatabase(RocksDatabase rocks) {
            super(rocks);
        }

        @Override
        void write(WriteBatch batch) {
            super.write(batch);
            Runnable step = afterWrite;
            afterWrite = null;
            if (step != null) {
                step.run();
            }
        }

        @Override
        byte @Nullable [] get(ReadOptions as, byte[] key) {
            byte[] value = super.get(as, key);
            Runnable step = afterGet;
            afterGet = null;
            if (step != null) {
                step.run();
            }
            return value;
        }
    }

    @BeforeEach
    void open() throws IOException {
        open("first", 1000);
        commit(1);
    }

    private void open(String name, int cached) throws IOException {
        db =
                new SteppedDatabase(
                        RocksDatabase.open(
                                Files.createDirectories(directory.resolve(name)),
                                MetaDatabase.NAME,
                                RocksConfig.defaults(),
                                new RocksMemory(new ByteSize(128 << 20), new ByteSize(64 << 20)),
                                Meters.unpublished(),
                                reason -> {
                                    throw new AssertionError(reason);
                                }));
        store = MetaStore.open(db, cached);
    }

    @AfterEach
    void close() {
        store.close();
    }

    /** The file and its directory say the version, in sizes, counters and an attribute. */
    private void commit(int version) {
        StateTx tx = new StateTx(store, Time.EPOCH);
        Inode directory = new Inode(D);
        directory.mode = Mode.DIRECTORY;
        directory.size = version;
        tx.add(directory);
        Inode file = new Inode(F);
        file.mode = Mode.REGULAR;
        file.size = version;
        tx.add(file);
        tx.putEntry(D, NAME.name(), new Dentry(F, 3, Mode.REGULAR));
        tx.put(MetaKeys.of(MetaKeys.XATTR, F, NAME.name()), MetaKeys.longValue(version));
        tx.tally.bytesUsed = version;
        store.commit(tx, 1, ++index);
    }

    private void commitRemoval() {
        StateTx tx = new StateTx(store, Time.EPOCH);
        tx.remove(Objects.requireNonNull(tx.inode(F)));
        tx.removeEntry(D, NAME.name(), new Dentry(F, 3, Mode.REGULAR));
        store.commit(tx, 1, ++index);
    }

    /** By every way there is. */
    private void assertAllSay(int version) {
        try (MetaView view = store.view()) {
            assertSays(view, version);
        }
        Inode cached = store.cachedInode(F);
        assertThat(cached == null ? version : cached.size).isEqualTo(version);
        cached = store.cachedEntry(NAME);
        assertThat(cached == null ? version : cached.size).isEqualTo(version);
        assertThat(store.counters().bytesUsed()).isEqualTo(version);
    }

    private static void assertSays(MetaView view, int version) {
        var listing = DirectoryListing.read(view, D, 0, 1000, true);
        assertThat(listing.getEntries(0).getAttr().getSize()).isEqualTo(version);
        assertThat(Objects.requireNonNull(view.inode(D)).size).isEqualTo(version);
        assertThat(Objects.requireNonNull(view.inode(F)).size).isEqualTo(version);
        assertThat(view.entry(NAME)).isEqualTo(new Dentry(F, 3, Mode.REGULAR));
        assertThat(MetaKeys.longAt(xattr(view), 0)).isEqualTo(version);
        assertThat(view.counters().bytesUsed()).isEqualTo(version);
    }

    private static byte[] xattr(MetaView view) {
        return Objects.requireNonNull(view.get(MetaKeys.of(MetaKeys.XATTR, F, NAME.name())));
    }

    @Test
    void whatRocksDbHasWrittenIsNotSeenBeforeTheCachesHaveIt() {
        assertAllSay(1);
        db.afterWrite = () -> assertAllSay(1);
        commit(2);
        assertThat(db.afterWrite).as("the step was taken").isNull();
        assertAllSay(2);
    }

    @Test
    void aViewShowsItsStateWhateverIsCommittedMeanwhile() {
        try (MetaView old = store.view()) {
            for (int version = 2; version < 10; version++) {
                commit(version);
                assertSays(old, 1);
                assertAllSay(version);
            }
            commitRemoval();
            assertSays(old, 1);
        }
        assertThat(store.cachedInode(F)).isNull();
        assertThat(store.cachedEntry(NAME)).isNull();
    }

    /** One that held a lock would wait for itself here. */
    @Test
    void aReaderThatMissesTheCacheHoldsNoCommitUpAndCachesNothingOld() throws IOException {
        reopen();
        db.afterGet = () -> commit(2);
        try (MetaView view = store.view()) {
            assertThat(Objects.requireNonNull(view.inode(F)).size).isEqualTo(1);
            assertThat(index).as("committed while the reader read").isEqualTo(2);
            assertSays(view, 1);
        }
        assertAllSay(2);
        assertThat(Objects.requireNonNull(store.inode(F)).size).isEqualTo(2);
    }

    @Test
    void norDoesItCacheWhatIsGone() throws IOException {
        reopen();
        db.afterGet = this::commitRemoval;
        try (MetaView view = store.view()) {
            assertThat(view.entry(NAME)).isNotNull();
            assertThat(view.inode(F)).isNotNull();
        }
        assertThat(store.cachedEntry(NAME)).isNull();
        assertThat(store.cachedInode(F)).isNull();
        assertThat(store.entry(NAME)).isNull();
        assertThat(store.inode(F)).isNull();
    }

    @Test
    void aReaderThatNothingOvertakesFillsTheCache() throws IOException {
        reopen();
        assertThat(store.cachedEntry(NAME)).isNull();
        try (MetaView view = store.view()) {
            assertSays(view, 1);
        }
        assertThat(Objects.requireNonNull(store.cachedEntry(NAME)).size).isEqualTo(1);
        assertThat(Objects.requireNonNull(store.cachedInode(D)).size).isEqualTo(1);
    }

    /** With nothing in the caches. */
    private void reopen() throws IOException {
        store.database().flush();
        store.close();
        open("first", 1000);
    }
}
