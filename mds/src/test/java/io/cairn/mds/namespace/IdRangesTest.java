package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.HeldRange;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Inode ids that sessions have for themselves: no two files get one, and none is forgotten. */
class IdRangesTest {
    private static final int POOL = 1;
    private static final int FAST = 2;

    @TempDir Path directory;
    private StateRig rig;
    private long a;
    private long b;
    private int names;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory.resolve("state"));
        a = rig.openSession(1);
        b = rig.openSession(2);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private IdRange acquire(long session, int count) {
        MutationResult result = rig.mutate(session, Ops.acquireIds(count));
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        assertThat(result.getIds().getLast() - result.getIds().getFirst()).isEqualTo(count - 1);
        return result.getIds();
    }

    private Mutation.Builder create() {
        return Ops.create(ROOT_INODE, "f" + names++);
    }

    private Mutation.Builder own(long id) {
        return create().setOwnInode(id);
    }

    private long made(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr().getInode();
    }

    private void madeOwn(long session, long... ids) {
        for (long id : ids) {
            assertThat(made(session, own(id))).isEqualTo(id);
        }
    }

    private String refused(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).isEqualTo(Errno.EINVAL);
        return result.getDetail();
    }

    private List<HeldRange> ranges(long session) {
        return Objects.requireNonNull(rig.state.session(session)).getIdRangesList();
    }

    private ApplyReply filledIn(long session, Mutation.Builder... mutations) {
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(rig.nextNumber(session));
        List.of(mutations).forEach(request::addMutations);
        ApplyReply reply = rig.apply(rig.entry().setMutate(request));
        if (reply.getErrno() == 0) {
            rig.mutateFrom(session, rig.nextNumber(session) + mutations.length);
        }
        return reply;
    }

    private List<Integer> orphansAmong(int pool, long... ids) {
        return rig.state.orphansAmong(pool, LongStream.of(ids).boxed().toList());
    }

    private void closeSession(long session) {
        rig.apply(
                rig.entry()
                        .setCloseSession(
                                CloseSessionEntry.newBuilder()
                                        .setSession(session)
                                        .setMaxOpens(1000)));
    }

    private void evict(long session) {
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
    }

    private void release(long session) {
        rig.apply(
                rig.entry()
                        .setReleaseSession(
                                ReleaseSessionEntry.newBuilder()
                                        .setSession(session)
                                        .setMaxOpens(1000)));
    }

    // ---- using them -----------------------------------------------------------------

    @Test
    void rangesOfTwoSessionsAndIdsOfTheLeaderNeverMeet() {
        IdRange one = acquire(a, 4);
        long between = made(b, create());
        IdRange two = acquire(b, 4);
        assertThat(between).as("behind the range").isEqualTo(one.getLast() + 1);
        assertThat(two.getFirst()).isEqualTo(between + 1);
        madeOwn(b, two.getFirst());
        madeOwn(a, one.getFirst());
        long after = made(a, create());
        assertThat(after).as("as if nothing was made of ranges").isEqualTo(two.getLast() + 1);
        madeOwn(a, one.getFirst() + 1);
        madeOwn(b, two.getFirst() + 1);
        assertThat(made(b, create())).isEqualTo(after + 1);
        assertThat(rig.state.maxInode()).isEqualTo(after + 1);
    }

    /** As it is with a real leader: ids in the log, those of ranges among them. */
    @Test
    void whatTheLeaderFillsInLiesBehindAllRanges() {
        long first = rig.state.maxInode() + 11;
        Mutation.Builder acquire = Ops.acquireIds(100);
        acquire.getAcquireIdsBuilder().setFirst(first);
        Mutation.Builder behind = create();
        behind.getCreateBuilder().setInode(first + 100);
        ApplyReply reply = filledIn(a, acquire, behind);
        assertThat(reply.getResults(0).getIds().getFirst()).isEqualTo(first);
        assertThat(reply.getResults(1).getAttr().getInode()).isEqualTo(first + 100);

        for (long wrong : List.of(first, first + 99, first + 100)) {
            Mutation.Builder within = create();
            within.getCreateBuilder().setInode(wrong);
            assertThat(Errno.of(filledIn(b, within).getErrno())).isEqualTo(Errno.EEXIST);
            Mutation.Builder again = Ops.acquireIds(1);
            again.getAcquireIdsBuilder().setFirst(wrong);
            assertThat(Errno.of(filledIn(b, again).getErrno())).isEqualTo(Errno.EEXIST);
        }
        Mutation.Builder overlapping = Ops.acquireIds(10);
        overlapping.getAcquireIdsBuilder().setFirst(first + 101);
        Mutation.Builder within = create();
        within.getCreateBuilder().setInode(first + 110);
        assertThat(Errno.of(filledIn(b, overlapping, within).getErrno()))
                .as("in one batch")
                .isEqualTo(Errno.EEXIST);
        Mutation.Builder beyond = Ops.acquireIds(10);
        beyond.getAcquireIdsBuilder().setFirst((1L << MutationBatch.SHARD_SHIFT) - 5);
        assertThat(Errno.of(filledIn(b, beyond).getErrno())).isEqualTo(Errno.EINVAL);
    }

    @Test
    void everythingThatIsMadeMayHaveAnOwnId() {
        IdRange range = acquire(a, 4);
        long id = range.getFirst();
        long directory = made(a, Ops.mkdir(ROOT_INODE, "d").setOwnInode(id));
        assertThat(made(a, Ops.symlink(directory, "s", "t").setOwnInode(id + 1))).isEqualTo(id + 1);
        assertThat(made(a, Ops.mknod(directory, "p", Mode.FIFO | 0600, 0).setOwnInode(id + 2)))
                .isEqualTo(id + 2);
        assertThat(made(a, Ops.createOpen(directory, "f").setOwnInode(id + 3))).isEqualTo(id + 3);
        assertThat(rig.state.lookup(directory, StateRig.name("f")).getInode()).isEqualTo(id + 3);
        assertThat(refused(a, Ops.unlink(directory, "s").setOwnInode(id + 3)))
                .contains("UNLINK", "" + (id + 3));
    }

    @Test
    void anIdOfAnotherSessionIsRefusedAlone() {
        IdRange one = acquire(a, 4);
        IdRange two = acquire(b, 4);
        List<MutationResult> results =
                rig.mutate(
                        a,
                        List.of(
                                own(one.getFirst()),
                                own(two.getFirst()),
                                own(one.getFirst() + 1),
                                create()));
        assertThat(results)
                .extracting(result -> Errno.of(result.getErrno()))
                .containsExactly(Errno.OK, Errno.EINVAL, Errno.OK, Errno.OK);
        assertThat(results.get(1).getDetail())
                .contains("" + two.getFirst(), "session " + a, "to " + one.getLast());
        madeOwn(b, two.getFirst());
    }

    @Test
    void anIdIsUsedOnceAndInOrder() {
        IdRange range = acquire(a, 10);
        long first = range.getFirst();
        refused(a, own(first - 1));
        refused(a, own(first + 10));
        refused(a, own(Long.MAX_VALUE));
        refused(a, own(-1));
        madeOwn(a, first, first + 5);
        for (long used = first; used <= first + 5; used++) {
            refused(a, own(used));
        }
        madeOwn(a, first + 6);
        made(a, Ops.unlink(ROOT_INODE, "f" + (names - 1)));
        refused(a, own(first + 6));
        refused(b, own(first + 7));
    }

    @Test
    void anIdWhoseOperationFailedIsNotUsed() {
        IdRange range = acquire(a, 2);
        made(a, Ops.mkdir(ROOT_INODE, "there"));
        MutationResult failed =
                rig.mutate(a, Ops.mkdir(ROOT_INODE, "there").setOwnInode(range.getFirst()));
        assertThat(Errno.of(failed.getErrno())).isEqualTo(Errno.EEXIST);
        madeOwn(a, range.getFirst());
        MutationResult present =
                rig.mutate(a, Ops.createOpen(ROOT_INODE, "f0").setOwnInode(range.getLast()));
        assertThat(present.getAttr().getInode()).as("it was there").isEqualTo(range.getFirst());
        madeOwn(a, range.getLast());
    }

    @Test
    void aSessionHasTwoRangesAtMost() {
        IdRange first = acquire(a, 2);
        IdRange second = acquire(a, 1024);
        MutationResult third = rig.mutate(a, Ops.acquireIds(1));
        assertThat(Errno.of(third.getErrno())).isEqualTo(Errno.EBUSY);
        madeOwn(a, first.getFirst(), first.getLast());
        assertThat(ranges(a)).as("used up").hasSize(1);
        refused(a, own(first.getLast()));
        madeOwn(a, second.getFirst());
        acquire(a, 1);
        assertThat(rig.mutate(a, Ops.returnIds()).getErrno()).isZero();
        assertThat(ranges(a)).isEmpty();
        assertThat(refused(a, own(second.getFirst() + 1))).contains("no range");
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        for (int count : new int[] {0, 1025, -1, Integer.MIN_VALUE}) {
            refused(a, Ops.acquireIds(count));
        }
    }

    @Test
    void aRangeIsPassedOverByTheNextOne() {
        IdRange first = acquire(a, 10);
        IdRange second = acquire(a, 10);
        madeOwn(a, first.getFirst());
        rig.mutate(a, Ops.create(ROOT_INODE, "f0").setOwnInode(first.getLast())); // it is there
        assertThat(ranges(a)).hasSize(2);
        madeOwn(a, second.getFirst());
        assertThat(ranges(a)).extracting(HeldRange::getFirst).containsExactly(second.getFirst());
        refused(a, own(first.getLast()));
        acquire(a, 10);
        evict(a);
        release(a);
        assertThat(queued())
                .containsExactly(new Queued(POOL, second.getFirst() + 1, second.getLast()));
        release(a);
        assertThat(orphansAmong(POOL, first.getLast())).containsExactly(0);
    }

    @Test
    void anAcquisitionThatIsSentAgainIsAnsweredAgain() {
        MutateRequest request =
                MutateRequest.newBuilder()
                        .setSession(a)
                        .setFirstNumber(1)
                        .addMutations(Ops.acquireIds(7))
                        .build();
        ApplyReply once = rig.apply(rig.entry().setMutate(request));
        ApplyReply again = rig.apply(rig.entry().setMutate(request));
        assertThat(once.getResults(0).getIds().getFirst()).isPositive();
        assertThat(again.getResultsList()).isEqualTo(once.getResultsList());
        assertThat(ranges(a)).hasSize(1);
    }

    // ---- the end of a session ---------------------------------------------------------

    @Test
    void aSessionThatClosesLeavesNothing() {
        IdRange range = acquire(a, 100);
        madeOwn(a, range.getFirst());
        acquire(a, 100);
        closeSession(a);
        assertThat(rig.state.session(a)).isNull();
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        assertThat(orphansAmong(POOL, range.getFirst(), range.getLast())).containsExactly(1);
        assertThat(made(b, create())).isGreaterThan(range.getLast() + 100);
    }

    private record Queued(int pool, long first, long last) {}

    private List<Queued> queued() {
        return rig.state.deletions(0, 100).stream()
                .filter(r -> r.getLastInode() != 0)
                .map(r -> new Queued(r.getLayout().getPool(), r.getInode(), r.getLastInode()))
                .toList();
    }

    private void reapAll() {
        List<Long> places =
                rig.state.deletions(0, 100).stream().map(DeletionRecord::getSequence).toList();
        for (int twice = 0; twice < 2; twice++) {
            rig.apply(rig.entry().setReaped(ReapedEntry.newBuilder().addAllUnusedIds(places)));
        }
    }

    @Test
    void ofAnEvictedSessionTheIdsWithoutAFileAreDeletedInAllPoolsSliceBySlice() {
        assertThat(OrphanedDataTest.change(rig, OrphanedDataTest.fast()).getErrno()).isZero();
        IdRange one = acquire(a, 1024);
        IdRange other = acquire(b, 50);
        IdRange two = acquire(a, 1024);
        madeOwn(a, one.getFirst(), one.getFirst() + 1);
        made(a, Ops.unlink(ROOT_INODE, "f1"));
        DeletionRecord file = rig.state.deletions(0, 1).getFirst();
        long open = made(a, Ops.createOpen(ROOT_INODE, "open").setOwnInode(one.getFirst() + 2));
        made(a, Ops.unlink(ROOT_INODE, "open"));
        evict(a);
        assertThat(queued()).as("it may send data still").isEmpty();
        release(a);
        assertThat(queued())
                .containsExactly(
                        new Queued(POOL, one.getFirst() + 3, one.getLast()),
                        new Queued(FAST, one.getFirst() + 3, one.getLast()));
        assertThat(Objects.requireNonNull(rig.state.session(a)).getOpenFiles())
                .as("of files")
                .isEqualTo(1);
        assertThat(rig.state.poolUsers(FAST)).isEqualTo(1);
        release(a);
        assertThat(rig.state.session(a)).isNull();
        assertThat(queued())
                .containsExactly(
                        new Queued(POOL, one.getFirst() + 3, one.getLast()),
                        new Queued(FAST, one.getFirst() + 3, one.getLast()),
                        new Queued(POOL, two.getFirst(), two.getLast()),
                        new Queued(FAST, two.getFirst(), two.getLast()));
        assertThat(rig.state.deletions(0, 100))
                .filteredOn(r -> r.getLastInode() == 0)
                .extracting(DeletionRecord::getInode)
                .as("files by themselves")
                .containsExactly(file.getInode(), open);
        assertThat(ranges(b)).extracting(HeldRange::getFirst).containsExactly(other.getFirst());
        reapAll();
        assertThat(queued()).isEmpty();
        assertThat(rig.state.deletions(0, 100)).as("the files").hasSize(2);
        assertThat(rig.state.poolUsers(FAST)).isZero();
        madeOwn(b, other.getFirst());
    }

    /** A leader of an older version says nothing of slices. */
    @Test
    void anEntryWithoutALimitReleasesAllRanges() {
        acquire(a, 10);
        acquire(a, 10);
        evict(a);
        rig.apply(rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(a)));
        assertThat(rig.state.session(a)).isNull();
        assertThat(queued()).hasSize(2);
    }

    // ---- scrubs -------------------------------------------------------------------------

    @Test
    void whatIsFoundOfAnIdOfALiveRangeIsNoOrphan() {
        IdRange range = acquire(a, 1024);
        long[] ids = {
            range.getFirst() - 1,
            range.getFirst(),
            range.getFirst() + 500,
            range.getLast(),
            range.getLast() + 1,
            0,
            -1,
            Long.MAX_VALUE
        };
        List<Integer> foreign = List.of(0, 4, 5, 6, 7);
        made(b, create()); // the root is in front of the range, this behind it
        made(b, Ops.unlink(ROOT_INODE, "f0"));
        rig.apply(rig.entry().setReaped(ReapedEntry.newBuilder().addInodes(range.getLast() + 1)));
        foundAll(range);
        assertThat(orphansAmong(POOL, ids)).isEqualTo(foreign);
        madeOwn(a, range.getFirst() + 500);
        assertThat(orphansAmong(POOL, ids)).isEqualTo(foreign);
        evict(a);
        foundAll(range);
        assertThat(orphansAmong(POOL, ids)).as("evicted").isEqualTo(foreign);
        release(a);
        foundAll(behind(range, 501));
        assertThat(orphansAmong(POOL, range.getFirst(), range.getFirst() + 500, range.getLast()))
                .as("those passed over are nobody's, the rest is in the queue")
                .containsExactly(0);
        reapAll();
        assertThat(orphansAmong(POOL, range.getFirst() + 500, range.getLast()))
                .as("all is deleted")
                .containsExactly(1);
    }

    private static IdRange behind(IdRange range, int skipped) {
        return range.toBuilder().setFirst(range.getFirst() + skipped).build();
    }

    private void foundAll(IdRange range) {
        OrphanedDataTest.found(
                rig,
                OrphanedDataTest.pg(POOL, 3),
                0,
                range.getFirst(),
                range.getFirst() + 1,
                range.getLast());
        assertThat(rig.state.orphanedData(0, 0, 10)).isEmpty();
    }

    /** Rows of ranges lie in blocks of 65,536 ids: a range may be in two. */
    @Test
    void aRangeIsFoundByEachOfItsIdsWhereverItLies() {
        for (long first :
                List.of(65_000L, 130_048L, 196_607L, 262_144L, 1L << 32, (1L << 33) - 2)) {
            Mutation.Builder acquire = Ops.acquireIds(1024);
            acquire.getAcquireIdsBuilder().setFirst(first);
            assertThat(filledIn(b, acquire).getErrno()).isZero();
            for (long id = first; id < first + 1024; id++) {
                assertThat(orphansAmong(POOL, id)).as("%d", id).isEmpty();
            }
            assertThat(orphansAmong(POOL, first - 1, first + 1024)).containsExactly(0, 1);
            made(b, Ops.returnIds());
            assertThat(orphansAmong(POOL, first, first + 1023)).containsExactly(0, 1);
        }
    }

    /** What a restored state does not know is skipped; a range from before stays the session's. */
    @Test
    void aRangeBeforeSkippedIdsGoesOn() {
        IdRange range = acquire(a, 10);
        OrphanedDataTest.found(rig, OrphanedDataTest.pg(POOL, 3), 0, range.getLast() + 1000);
        IdRange next = acquire(b, 10);
        assertThat(next.getFirst()).isEqualTo(range.getLast() + 1001);
        OrphanedDataTest.found(rig, OrphanedDataTest.pg(POOL, 3), 0, next.getLast() + 1000);
        assertThat(orphansAmong(POOL, range.getFirst(), next.getFirst(), next.getLast()))
                .as("among ids that were skipped")
                .isEmpty();
        madeOwn(a, range.getFirst());
        madeOwn(b, next.getFirst());
    }

    // ---- other members --------------------------------------------------------------------

    @Test
    void aMemberThatGotACheckpointGoesOnAlike() throws IOException {
        IdRange one = acquire(a, 1024);
        IdRange two = acquire(b, 8);
        madeOwn(a, one.getFirst());
        madeOwn(b, two.getFirst());
        Path checkpoint = directory.resolve("checkpoint");
        rig.state.checkpoint(checkpoint);
        Path restored = directory.resolve("restored");
        MetaState copy = MetaState.open(restored, StateRig.config(16));
        copy.restore(checkpoint);
        madeOwn(a, one.getFirst() + 1);
        refused(a, own(one.getFirst()));
        refused(b, own(two.getFirst()));
        made(b, create());
        evict(a);
        release(a);
        release(a);
        replay(copy);
        copy.close();
        String expected = fingerprint();
        assertThat(Fingerprint.of(restored)).isEqualTo(expected);
        Path late = directory.resolve("late");
        try (MetaState state = MetaState.open(late, StateRig.config())) {
            replay(state);
        }
        assertThat(Fingerprint.of(late)).isEqualTo(expected);
        MetaFsck.check(late);
    }

    private String fingerprint() throws IOException {
        rig.close();
        String text = Fingerprint.of(rig.directory);
        List<ByteString> log = new ArrayList<>(rig.log);
        rig = new StateRig(rig.directory);
        rig.log.addAll(log);
        return text;
    }

    private void replay(MetaState state) {
        for (int i = 0; i < rig.log.size(); i++) {
            state.apply(1, i + 1, rig.log.get(i));
        }
    }
}
