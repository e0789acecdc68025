package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.Pool;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.proto.OrphanPlace;
import io.cairn.mds.proto.OrphansChangedEntry;
import io.cairn.mds.proto.OrphansFoundEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the state says of data that scrubs find, and what it lets happen to it. */
class OrphanedDataTest {
    private static final int POOL = 1;
    private static final int FAST = 2;

    @TempDir Path directory;
    private StateRig rig;
    private long session;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        session = rig.openSession(1);
        assertThat(change(fast()).getErrno()).isZero();
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    static Pool.Builder fast() {
        return Pool.newBuilder().setId(FAST).setName("fast").setSize(2).setMinSize(1).setPgCount(8);
    }

    private ApplyReply change(Pool.Builder pool) {
        return change(rig, pool);
    }

    static ApplyReply change(StateRig rig, Pool.Builder pool) {
        long epoch = rig.state.map().epoch();
        return rig.apply(
                rig.entry()
                        .setMapChange(
                                MapChangeEntry.newBuilder()
                                        .setBaseEpoch(epoch)
                                        .setUpdate(
                                                MapUpdate.newBuilder()
                                                        .setBaseEpoch(epoch)
                                                        .setEpoch(epoch + 1)
                                                        .addPools(pool))));
    }

    private Attr done(Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private Errno layout(long inode, String value) {
        return Errno.of(
                rig.mutate(session, Ops.setXattr(inode, "cairn.layout", name(value), 0))
                        .getErrno());
    }

    private long created(String name) {
        return done(Ops.create(ROOT_INODE, name)).getInode();
    }

    /** Of a file that was, and whose data is gone. */
    private long dead(String name) {
        long inode = created(name);
        done(Ops.unlink(ROOT_INODE, name));
        reaped(inode);
        return inode;
    }

    private void reaped(long inode) {
        rig.apply(rig.entry().setReaped(ReapedEntry.newBuilder().addInodes(inode)));
    }

    static int pg(int pool, int index) {
        return pool << 16 | index;
    }

    private void found(int pg, long... inodes) {
        found(rig, pg, 0, inodes);
    }

    static void found(StateRig rig, int pg, long unlisted, long... inodes) {
        OrphansFoundEntry.Builder entry =
                OrphansFoundEntry.newBuilder()
                        .setPg(pg)
                        .setInodes(100)
                        .setBytes(1000)
                        .setUnlisted(unlisted);
        for (long inode : inodes) {
            entry.addFound(FoundOrphan.newBuilder().setInode(inode).setChunks(1).setBytes(7));
        }
        assertThat(rig.apply(rig.entry().setOrphansFound(entry)).getErrno()).isZero();
    }

    private void change(boolean remove, boolean keep, int pool, long inode) {
        assertThat(
                        rig.apply(
                                        rig.entry()
                                                .setOrphansChanged(
                                                        OrphansChangedEntry.newBuilder()
                                                                .addOrphans(
                                                                        OrphanId.newBuilder()
                                                                                .setPool(pool)
                                                                                .setInode(inode))
                                                                .setRemove(remove)
                                                                .setKeep(keep)))
                                .getErrno())
                .isZero();
    }

    private void remove(int pool, long inode) {
        change(true, false, pool, inode);
    }

    private List<Long> noted(int pool) {
        return rig.state.orphanedData(0, 0, 1000).stream()
                .filter(o -> o.pool() == pool)
                .map(OrphanedInode::inode)
                .toList();
    }

    private List<Integer> asked(int pool, long... inodes) {
        return rig.state.orphansAmong(pool, LongStream.of(inodes).boxed().toList());
    }

    private Ownership owner(int pool, long inode) {
        return Objects.requireNonNull(rig.state.orphanedInode(pool, inode)).owner();
    }

    private OrphanLookRecord look(int index) {
        return Objects.requireNonNull(rig.state.orphanLooks().get(pg(POOL, index)));
    }

    // ---- whose ----------------------------------------------------------------------

    @Test
    void whatAFileHasIsItsUntilItsDeletionIsDone() {
        long inode = done(Ops.createOpen(ROOT_INODE, "f")).getInode();
        assertThat(asked(POOL, inode, ROOT_INODE)).containsExactly(1); // a directory has no data
        done(Ops.unlink(ROOT_INODE, "f"));
        assertThat(asked(POOL, inode)).as("still open").isEmpty();
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
        assertThat(asked(POOL, inode)).as("of an evicted session").isEmpty();
        rig.apply(
                rig.entry()
                        .setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(session)));
        assertThat(asked(POOL, inode)).as("in the queue").isEmpty();
        reaped(inode);
        assertThat(asked(POOL, inode)).containsExactly(0);
        assertThat(asked(POOL, inode + 1)).as("of the future").containsExactly(0);
    }

    @Test
    void whatIsAFilesIsNotNotedWhateverTheLeaderThought() {
        long file = created("f");
        long queued = created("g");
        done(Ops.unlink(ROOT_INODE, "g"));
        found(pg(POOL, 3), file, queued);
        assertThat(noted(POOL)).isEmpty();
        assertThat(look(3).getOrphans()).isZero();
    }

    // ---- found, again, and no more ------------------------------------------------------

    @Test
    void whatIsFoundIsNotedWithWhereAndSinceWhen() {
        long inode = dead("f");
        found(pg(POOL, 3), inode);
        found(pg(POOL, 5), inode);
        OrphanedInode noted = noted(inode);
        assertThat(noted.owner()).isEqualTo(Ownership.NOBODY);
        assertThat(noted.bytes()).isEqualTo(14);
        assertThat(noted.chunks()).isEqualTo(2);
        assertThat(noted.record().getPlacesList())
                .extracting(OrphanPlace::getPg)
                .containsExactly(pg(POOL, 3), pg(POOL, 5));
        OrphanLookRecord look = look(5);
        assertThat(look.getOrphans()).isEqualTo(1);
        assertThat(look.getOrphanBytes()).isEqualTo(7);
        assertThat(look.getInodes()).isEqualTo(100);

        found(pg(POOL, 3));
        assertThat(noted(POOL)).containsExactly(inode);
        found(pg(POOL, 5));
        assertThat(noted(POOL)).as("it has vanished").isEmpty();
    }

    @Test
    void aLookThatNamesNotAllSaysNothingOfTheRest() {
        long first = dead("a");
        long second = dead("b");
        long third = dead("c");
        found(pg(POOL, 3), first, second, third);
        found(rig, pg(POOL, 3), 1, second);
        assertThat(noted(POOL)).containsExactly(second, third);
    }

    @Test
    void provenIsWhatALaterLookFindsAgain() {
        long inode = dead("f");
        found(pg(POOL, 3), inode);
        assertThat(noted(inode).isProven(0)).as("one look").isFalse();
        long since = noted(inode).record().getFirstSeen().getSeconds();
        found(pg(POOL, 3), inode);
        long age = noted(inode).record().getLastSeen().getSeconds() - since;
        assertThat(age).isPositive();
        assertThat(noted(inode).record().getFirstSeen().getSeconds()).isEqualTo(since);
        assertThat(noted(inode).isProven(age)).isTrue();
        assertThat(noted(inode).isProven(age + 1)).isFalse();
        found(pg(POOL, 3));
        found(pg(POOL, 3), inode);
        assertThat(noted(inode).isProven(0)).as("it begins anew").isFalse();
    }

    private OrphanedInode noted(long inode) {
        return Objects.requireNonNull(rig.state.orphanedInode(POOL, inode));
    }

    // ---- removal ------------------------------------------------------------------------

    @Test
    void whatIsRemovedGoesThroughTheDeletionQueue() {
        long inode = dead("f");
        found(pg(POOL, 3), inode);
        remove(POOL, inode);
        DeletionRecord queued = rig.state.deletions(0, 10).getFirst();
        assertThat(queued.getInode()).isEqualTo(inode);
        assertThat(queued.getOrphan()).isTrue();
        assertThat(queued.getLayout().getPool()).isEqualTo(POOL);
        assertThat(queued.getSize()).isEqualTo(7);
        assertThat(rig.state.counters().deletionInodes()).isEqualTo(1);
        remove(POOL, inode);
        found(pg(POOL, 3));
        assertThat(rig.state.counters().deletionInodes()).as("once").isEqualTo(1);
        assertThat(noted(POOL)).as("until all groups have answered").containsExactly(inode);
        reapedOrphan(queued);
        reapedOrphan(queued);
        assertThat(noted(POOL)).isEmpty();
        assertThat(rig.state.counters().deletionInodes()).isZero();
    }

    private void reapedOrphan(DeletionRecord record) {
        rig.apply(rig.entry().setReaped(ReapedEntry.newBuilder().addOrphans(record.getSequence())));
    }

    @Test
    void whatIsKeptIsNotRemoved() {
        long inode = dead("f");
        found(pg(POOL, 3), inode);
        change(false, true, POOL, inode);
        found(pg(POOL, 3), inode);
        assertThat(look(3).getOrphans()).isZero();
        remove(POOL, inode);
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        change(false, false, POOL, inode);
        remove(POOL, inode);
        assertThat(rig.state.deletions(0, 10)).hasSize(1);
    }

    /** The state was restored from an older one: what it does not know yet may be a file's. */
    @Test
    void anIdOfTheFutureIsNeverRemovedAndNeverGivenOut() {
        long next = created("last") + 1;
        found(pg(POOL, 3), next + 1000, SkippedIds.MAX, -5);
        assertThat(noted(POOL)).containsExactly(next + 1000, SkippedIds.MAX, -5L);
        for (long inode : List.of(next + 1000, SkippedIds.MAX, -5L)) {
            assertThat(owner(POOL, inode)).isEqualTo(Ownership.NEVER_GIVEN_OUT);
            remove(POOL, inode);
        }
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        assertThat(created("new")).isEqualTo(next + 1001);
        assertThat(owner(POOL, next + 1000)).isEqualTo(Ownership.NEVER_GIVEN_OUT);
        found(pg(POOL, 4), next + 7);
        assertThat(owner(POOL, next + 7)).as("below it").isEqualTo(Ownership.NEVER_GIVEN_OUT);
        long inode = dead("f");
        found(pg(POOL, 3), inode);
        assertThat(owner(POOL, inode)).isEqualTo(Ownership.NOBODY);
    }

    // ---- pools --------------------------------------------------------------------------

    @Test
    void whatAFileHasInAnotherPoolIsNobodys() {
        long inode = created("f");
        found(pg(FAST, 3), inode);
        assertThat(owner(FAST, inode)).isEqualTo(Ownership.OTHER_POOL);
        remove(FAST, inode);
        DeletionRecord orphan = rig.state.deletions(0, 10).getFirst();
        assertThat(rig.state.poolUsers(FAST)).isEqualTo(1);
        // The file itself goes its own way through the queue.
        done(Ops.unlink(ROOT_INODE, "f"));
        assertThat(rig.state.deletions(0, 10)).hasSize(2);
        reapedOrphan(orphan);
        assertThat(rig.state.poolUsers(FAST)).isZero();
        assertThat(rig.state.deletions(0, 10)).hasSize(1);
        assertThat(asked(POOL, inode)).as("the file's data is still there").isEmpty();
        reaped(inode);
        assertThat(rig.state.deletions(0, 10)).isEmpty();
    }

    @Test
    void aFileDoesNotMoveToAPoolWhereWhatItHadIsBeingRemoved() {
        long inode = created("f");
        found(pg(FAST, 3), inode);
        remove(FAST, inode);
        assertThat(layout(inode, "pool=fast")).isEqualTo(Errno.EBUSY);
        reapedOrphan(rig.state.deletions(0, 10).getFirst());
        assertThat(layout(inode, "pool=fast")).isEqualTo(Errno.OK);
    }

    @Test
    void aFileThatMovesToThePoolBeforeIsNotTouched() {
        long inode = created("f");
        found(pg(FAST, 3), inode);
        assertThat(layout(inode, "pool=fast")).isEqualTo(Errno.OK);
        remove(FAST, inode);
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        assertThat(noted(FAST)).as("forgotten").isEmpty();
    }

    @Test
    void aRemovedPoolTakesWhatIsKnownOfItAlong() {
        long inode = dead("f");
        found(pg(FAST, 3), inode);
        found(pg(POOL, 3), inode);
        assertThat(change(fast().setRemoved(true)).getErrno()).isZero();
        assertThat(noted(FAST)).isEmpty();
        assertThat(noted(POOL)).containsExactly(inode);
        assertThat(rig.state.orphanLooks()).containsOnlyKeys(pg(POOL, 3));
        found(pg(FAST, 3), inode);
        assertThat(noted(FAST)).isEmpty();
    }
}
