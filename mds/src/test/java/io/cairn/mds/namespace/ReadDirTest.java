package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.DeletedRows;
import io.cairn.common.seed.TestSeed;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Listings of directories that are large, or change meanwhile. */
class ReadDirTest {
    private static final long SEED = TestSeed.of("ReadDirTest");

    @TempDir Path directory;
    private StateRig rig;
    private long session;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        rig.applyTwice = false;
        session = rig.openSession(1);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    /** In batches, as a client sends them. */
    private void each(int from, int to, IntFunction<Mutation.Builder> mutation) {
        List<Mutation.Builder> batch = new ArrayList<>();
        for (int i = from; i < to; i++) {
            batch.add(mutation.apply(i));
            if (batch.size() == 1000 || i == to - 1) {
                rig.mutate(session, batch)
                        .forEach(r ->
                                assertThat(Errno.of(r.getErrno()))
                                        .as(r.getDetail())
                                        .isEqualTo(Errno.OK));
                batch.clear();
            }
        }
    }

    @Test
    void cursorsStayRightWhileEntriesComeAndGo() {
        Random random = new Random(SEED);
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        each(0, 1000, i -> Ops.mknod(d, "stays" + i, Mode.FIFO, 0));
        each(0, 5000, i -> Ops.mknod(d, "goes" + i, Mode.FIFO, 0));
        int gone = 0;
        int come = 0;
        Map<String, Long> cursors = new HashMap<>();
        long cursor = 0;
        for (boolean end = false; !end; ) {
            ReadDirReply reply =
                    rig.state.readDir(d, cursor, 200 + random.nextInt(4000), random.nextBoolean());
            for (DirEntry e : reply.getEntriesList()) {
                assertThat(e.getCursor()).isGreaterThan(cursor).isGreaterThanOrEqualTo(3);
                cursor = e.getCursor();
                assertThat(cursors.put(e.getName().toStringUtf8(), cursor)).isNull();
            }
            end = reply.getEnd();
            int more = Math.min(5000, come + random.nextInt(300));
            each(come, more, i -> Ops.mknod(d, "comes" + i, Mode.FIFO, 0));
            come = more;
            int less = Math.min(5000, gone + random.nextInt(300));
            each(gone, less, i -> Ops.unlink(d, "goes" + i));
            gone = less;
        }
        for (int i = 0; i < 1000; i++) {
            assertThat(cursors).containsKey("stays" + i);
        }
        for (DirEntry e : rig.state.readDir(d, 0, Integer.MAX_VALUE, false).getEntriesList()) {
            Long before = cursors.get(e.getName().toStringUtf8());
            assertThat(before == null || before == e.getCursor()).isTrue();
        }
    }

    @Test
    void listingThatRenamesWhatItFindsComesToAnEnd() {
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        each(0, 100, i -> Ops.mknod(d, "n" + i, Mode.FIFO, 0));
        Set<Long> seen = new HashSet<>();
        long cursor = 0;
        for (boolean end = false; !end; ) {
            ReadDirReply reply = rig.state.readDir(d, cursor, 100, false);
            for (DirEntry e : reply.getEntriesList()) {
                assertThat(seen.add(e.getInode())).as("seen once").isTrue();
                cursor = e.getCursor();
                String name = e.getName().toStringUtf8();
                rig.mutate(session, Ops.rename(d, name, d, name + "-renamed", 0));
            }
            end = reply.getEnd();
        }
        assertThat(seen).hasSize(100);
    }

    @Test
    void entriesRemovedFromOtherDirectoriesAreNotWalkedOver() throws Exception {
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        long other = rig.mutate(session, Ops.mkdir(ROOT_INODE, "other")).getAttr().getInode();
        rig.mutate(session, Ops.mknod(d, "stays", Mode.FIFO, 0));
        each(0, 500, i -> Ops.mknod(other, "goes" + i, Mode.FIFO, 0));
        each(0, 500, i -> Ops.unlink(other, "goes" + i));
        long walkedOver =
                DeletedRows.walkedOver(
                        directory.resolve("any"),
                        () ->
                                assertThat(rig.state.readDir(d, 0, 4096, true).getEntriesList())
                                        .hasSize(1));
        assertThat(walkedOver).isZero();
    }

    @Test
    void rowsThatWereRemovedAreWalkedOverOnce() throws Exception {
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        rig.mutate(session, Ops.mknod(d, "first", Mode.FIFO, 0));
        each(0, 3000, i -> Ops.mknod(d, "goes" + i, Mode.FIFO, 0));
        rig.mutate(session, Ops.mknod(d, "middle", Mode.FIFO, 0));
        each(3000, 6000, i -> Ops.mknod(d, "goes" + i, Mode.FIFO, 0));
        each(0, 6000, i -> Ops.unlink(d, "goes" + i));
        assertThat(walkedOverListing(d, "first", "middle")).isEqualTo(6000);
        assertThat(walkedOverListing(d, "first", "middle")).isZero();

        rig.mutate(session, Ops.unlink(d, "first"));
        rig.mutate(session, Ops.mknod(d, "last", Mode.FIFO, 0));
        // What is before a gap is known to be gone when the gap has been walked over once more.
        assertThat(walkedOverListing(d, "middle", "last")).isEqualTo(3001);
        assertThat(walkedOverListing(d, "middle", "last")).isZero();
        rig.mutate(session, Ops.rename(d, "last", d, "middle", 0));
        assertThat(walkedOverListing(d, "middle")).isLessThan(5);
    }

    /** A queue: what is listed is what was added last. */
    @Test
    void listingsOfAQueueWalkOverWhatWasRemovedSinceTheLastOne() throws Exception {
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        for (int i = 0; i < 10; i++) {
            int first = i * 1500;
            each(first, first + 1500, n -> Ops.mknod(d, "job" + n, Mode.FIFO, 0));
            each(first, first + 1500, n -> Ops.unlink(d, "job" + n));
            assertThat(walkedOverListing(d)).isEqualTo(1500);
        }
    }

    private long walkedOverListing(long d, String... names) throws Exception {
        return DeletedRows.walkedOver(
                directory.resolve("any"),
                () ->
                        assertThat(
                                        rig.state
                                                .readDir(d, 0, Integer.MAX_VALUE, true)
                                                .getEntriesList())
                                .extracting(e -> e.getName().toStringUtf8())
                                .containsExactly(names));
    }

    @Test
    void directoryOfHundredThousandEntries() {
        long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        long f = rig.mutate(session, Ops.create(d, "link0")).getAttr().getInode();
        each(1, Links.MAX_LINKS, i -> Ops.link(f, d, "link" + i));
        assertThat(Errno.of(rig.mutate(session, Ops.link(f, d, "more")).getErrno()))
                .isEqualTo(Errno.EMLINK);
        each(Links.MAX_LINKS, 100_000, i -> Ops.mknod(d, "fifo" + i, Mode.FIFO, 0));
        assertThat(rig.state.getAttr(d).getSize()).isEqualTo(100_000);
        assertThat(rig.state.getAttr(f).getNlink()).isEqualTo(Links.MAX_LINKS);
        int listed = 0;
        long cursor = 0;
        for (boolean end = false; !end; ) {
            ReadDirReply reply = rig.state.readDir(d, cursor, 64 << 10, true);
            listed += reply.getEntriesCount();
            cursor = reply.getEntries(reply.getEntriesCount() - 1).getCursor();
            end = reply.getEnd();
        }
        assertThat(listed).isEqualTo(100_000);
    }
}
