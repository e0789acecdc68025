package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MoveOp;
import io.cairn.common.proto.MoveStep;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.SetXattrOp;
import io.cairn.common.proto.UnlinkOp;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.proto.MoveEndedEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.TruncatedEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is moved from pool 1 or 2 into pool 2 or 3; every state is also read from a replay. */
class MovesTest {
    private static final long MIB = 1 << 20;

    @TempDir Path directory;
    private StateRig rig;
    private long mover;
    private long other;
    private long file;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory.resolve("state"));
        ClusterSettings.Builder level =
                ClusterSettings.newBuilder().setFeatureLevel(Features.SOUND_MOVES);
        rig.apply(rig.entry().setSettings(level));
        MapUpdate.Builder pools = MapUpdate.newBuilder().setEpoch(2);
        for (int id = 2; id <= 3; id++) {
            pools.addPools(
                    Pool.newBuilder()
                            .setId(id)
                            .setName("p" + id)
                            .setSize(1)
                            .setMinSize(1)
                            .setPgCount(16));
        }
        assertThat(change(pools).getErrno()).isZero();
        mover = rig.openSession(1);
        other = rig.openSession(2);
        file = done(other, Ops.createOpen(ROOT_INODE, "f")).getInode();
        done(mover, openOp());
    }

    /** The same log makes the same state, and the state passes every check. */
    @AfterEach
    void close() throws IOException {
        Attr before = rig.state.attr(file);
        List<DeletionRecord> queue = rig.state.deletions(0, 100);
        try (StateRig again = new StateRig(directory.resolve("again"))) {
            for (int i = 0; i < rig.log.size(); i++) {
                again.state.apply(1, i + 1, rig.log.get(i));
                if (i == rig.log.size() / 2) {
                    again.state.flush();
                }
            }
            assertThat(again.state.attr(file)).isEqualTo(before);
            assertThat(again.state.deletions(0, 100)).isEqualTo(queue);
        }
        rig.close();
    }

    private ApplyReply change(MapUpdate.Builder update) {
        long epoch = rig.state.map().epoch();
        return rig.apply(
                rig.entry()
                        .setMapChange(
                                MapChangeEntry.newBuilder()
                                        .setBaseEpoch(epoch)
                                        .setUpdate(
                                                update.setBaseEpoch(epoch).setEpoch(epoch + 1))));
    }

    private Attr done(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private void refused(long session, Mutation.Builder mutation, Errno errno) {
        assertThat(Errno.of(rig.mutate(session, mutation).getErrno())).isEqualTo(errno);
    }

    private Mutation.Builder openOp() {
        return Mutation.newBuilder().setOpen(OpenOp.newBuilder().setInode(file));
    }

    private Mutation.Builder releaseOp() {
        return Mutation.newBuilder().setRelease(ReleaseOp.newBuilder().setInode(file).setOpens(1));
    }

    private Mutation.Builder step(MoveStep step) {
        return Mutation.newBuilder().setMove(MoveOp.newBuilder().setInode(file).setStep(step));
    }

    private Mutation.Builder begin(int pool) {
        return Mutation.newBuilder()
                .setMove(
                        MoveOp.newBuilder()
                                .setInode(file)
                                .setStep(MoveStep.MOVE_BEGIN)
                                .setPool(pool));
    }

    private Mutation.Builder switchPool(long fence) {
        return Mutation.newBuilder()
                .setMove(
                        MoveOp.newBuilder()
                                .setInode(file)
                                .setStep(MoveStep.MOVE_SWITCH)
                                .setFence(fence));
    }

    private Mutation.Builder size(long size) {
        return Mutation.newBuilder()
                .setSetAttr(SetAttrOp.newBuilder().setInode(file).setSize(size));
    }

    private Mutation.Builder grow(long size, long sequence) {
        return Mutation.newBuilder()
                .setGrow(
                        GrowOp.newBuilder()
                                .setInode(file)
                                .setSize(size)
                                .setTruncateSequence(sequence));
    }

    private void truncated(long sequence) {
        rig.apply(
                rig.entry()
                        .setTruncated(
                                TruncatedEntry.newBuilder().setInode(file).setSequence(sequence)));
    }

    private long fence() {
        MutationResult result = rig.mutate(mover, step(MoveStep.MOVE_FENCE));
        assertThat(Errno.of(result.getErrno())).isEqualTo(Errno.OK);
        return result.getWaitTruncated();
    }

    private void reap() {
        for (DeletionRecord record : rig.state.deletions(0, 100)) {
            ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
            if (record.getLeft()) {
                reaped.addLeft(record.getSequence());
            } else {
                reaped.addInodes(record.getInode());
            }
            rig.apply(rig.entry().setReaped(reaped));
        }
        assertThat(rig.state.deletions(0, 100)).isEmpty();
        assertThat(rig.state.counters().deletionInodes()).isZero();
        assertThat(rig.state.counters().deletionBytes()).isZero();
    }

    private void moveTo(int pool) {
        done(mover, begin(pool));
        long fence = fence();
        truncated(fence);
        done(mover, switchPool(fence));
        reap();
    }

    private Attr attr() {
        return rig.state.getAttr(file);
    }

    private Attr own() {
        return Objects.requireNonNull(rig.state.attr(file));
    }

    @Test
    void aFileIsCopiedFencedAndSwitched() {
        done(other, grow(10 * MIB, 0));
        done(mover, begin(2));
        assertThat(attr().getLayout().getPool()).isEqualTo(1);
        assertThat(own().getMovingPool()).isEqualTo(2);
        assertThat(rig.state.moves(0, 10)).hasSize(1);
        assertThat(rig.state.poolUsers(2)).isEqualTo(1);

        long change = attr().getChange();
        long fence = fence();
        assertThat(fence).isEqualTo(1);
        assertThat(rig.mutate(mover, step(MoveStep.MOVE_FENCE)).getWaitTruncated())
                .as("asked again")
                .isEqualTo(fence);
        assertThat(own().getPendingTruncations(0).getFence()).isTrue();
        assertThat(own().getTruncateSequence()).isEqualTo(fence);
        assertThat(attr().getTruncateSequence()).as("what chunks refuse").isZero();
        assertThat(attr().getPendingTruncationsCount()).isZero();
        refused(mover, switchPool(fence), Errno.EAGAIN);
        truncated(fence);
        done(mover, switchPool(fence));

        assertThat(attr().getLayout().getPool()).isEqualTo(2);
        assertThat(attr().getTruncateSequence()).isEqualTo(fence + 1);
        assertThat(attr().getCutSequence()).as("nothing was cut").isZero();
        assertThat(attr().hasCutSequence()).isTrue();
        assertThat(attr().getSize()).isEqualTo(10 * MIB);
        assertThat(attr().getChange()).isGreaterThan(change);
        assertThat(rig.state.moves(0, 10)).isEmpty();
        DeletionRecord left = rig.state.deletions(0, 10).getFirst();
        assertThat(left.getLayout().getPool()).isEqualTo(1);
        assertThat(left.getCutSequence()).isEqualTo(fence + 1);
        assertThat(left.getInode()).isEqualTo(file);
        reap();
        assertThat(rig.state.poolUsers(2)).isEqualTo(1);
    }

    /** A size that a client has not published yet is not taken for one from before a cut. */
    @Test
    void whatIsPublishedLateCountsAlsoAfterTheSwitch() {
        done(other, size(MIB));
        done(other, size(0)); // a real cut, sequence 1, as nobody else may have written beyond
        long real = attr().getTruncateSequence();
        truncated(real);
        done(mover, begin(2));
        long fence = fence();
        done(other, grow(5 * MIB, real));
        assertThat(attr().getSize()).isEqualTo(5 * MIB);
        truncated(fence);
        done(mover, switchPool(fence));
        done(other, grow(6 * MIB, real));
        assertThat(attr().getSize()).isEqualTo(6 * MIB);
        done(other, grow(9 * MIB, real - 1));
        assertThat(attr().getSize()).as("from before the cut").isEqualTo(6 * MIB);
        done(other, size(2 * MIB));
        done(other, grow(7 * MIB, fence + 1));
        assertThat(attr().getSize()).as("from before a cut after it").isEqualTo(2 * MIB);
        reap();
    }

    @Test
    void whileItIsFencedNothingIsCutAndNoChunkCanBeMade() {
        done(other, grow(3 * MIB, 0));
        done(mover, begin(2));
        long fence = fence();
        refused(other, size(MIB), Errno.EAGAIN);
        Mutation.Builder raise =
                Mutation.newBuilder()
                        .setRaiseCeiling(
                                RaiseCeilingOp.newBuilder()
                                        .setInode(file)
                                        .setSizeCeiling(100 * MIB));
        refused(other, raise, Errno.EAGAIN);
        truncated(fence);
        done(mover, switchPool(fence));
        done(other, raise);
        done(other, size(MIB));
        assertThat(attr().getCutSequence()).isZero();
        assertThat(attr().hasCutSequence()).as("the newest is one").isFalse();
        reap();
    }

    /** A chunk beyond the ceiling would not have the fence, and take writes that nobody copies. */
    @Test
    void whatGrowsUnderTheFenceGetsNoCeiling() {
        done(other, grow(3 * MIB, 0));
        done(mover, begin(2));
        long fence = fence();
        long ceiling = attr().getSizeCeiling();
        Mutation.Builder allocated =
                Mutation.newBuilder().setGrow(GrowOp.newBuilder().setInode(file).setSize(10 * MIB));
        done(other, allocated);
        done(other, size(12 * MIB));
        assertThat(attr().getSize()).isEqualTo(12 * MIB);
        assertThat(attr().getSizeCeiling()).isEqualTo(ceiling).isLessThan(10 * MIB);
        truncated(fence);
        done(mover, switchPool(fence));
        done(other, grow(13 * MIB, attr().getTruncateSequence()));
        assertThat(attr().getSizeCeiling()).isEqualTo(13 * MIB);
        reap();
    }

    /** So that those of both pools get it before the layout changes. */
    @Test
    void aCutThatIsPendingComesFirst() {
        done(other, grow(3 * MIB, 0));
        done(mover, begin(2));
        done(other, size(MIB));
        long cut = attr().getTruncateSequence();
        long fence = fence();
        assertThat(fence).isEqualTo(cut + 1);
        assertThat(attr().getTruncateSequence()).isEqualTo(cut);
        truncated(cut);
        refused(mover, switchPool(fence), Errno.EAGAIN);
        truncated(fence);
        done(mover, switchPool(fence));
        assertThat(attr().getTruncateSequence()).isEqualTo(fence + 1);
        assertThat(attr().getCutSequence()).isEqualTo(cut);
        reap();
    }

    @Test
    void whoeverGivesUpLeavesTheFileAsItWas() {
        for (boolean fenced : new boolean[] {false, true}) {
            done(mover, begin(2));
            long before = own().getTruncateSequence();
            if (fenced) {
                assertThat(fence()).isEqualTo(before + 1);
            }
            done(mover, step(MoveStep.MOVE_ABORT));
            done(mover, step(MoveStep.MOVE_ABORT));
            assertThat(attr().getLayout().getPool()).isEqualTo(1);
            assertThat(attr().getTruncateSequence()).isEqualTo(before + (fenced ? 2 : 1));
            assertThat(own().getPendingTruncationsCount()).isZero();
            assertThat(own().getMovingPool()).isZero();
            DeletionRecord left = rig.state.deletions(0, 10).getFirst();
            assertThat(left.getLayout().getPool()).isEqualTo(2);
            assertThat(left.getCutSequence()).isEqualTo(attr().getTruncateSequence());
            refused(mover, begin(2), Errno.EAGAIN);
            reap();
            assertThat(rig.state.poolUsers(2)).isZero();
        }
        moveTo(2);
    }

    /** The leader ends a fence that stands for too long; the mover hears of it and begins anew. */
    @Test
    void aFenceThatLastsTooLongIsEnded() {
        done(mover, begin(2));
        long fence = fence();
        ended(fence - 1);
        assertThat(own().getFenced()).as("of another fence").isTrue();
        ended(fence);
        assertThat(own().getFenced()).isFalse();
        ended(fence);
        refused(mover, switchPool(fence), Errno.ESTALE);
        refused(mover, step(MoveStep.MOVE_FENCE), Errno.ESTALE);
        reap();
        moveTo(2);
        assertThat(attr().getLayout().getPool()).isEqualTo(2);
    }

    private void ended(long fence) {
        rig.apply(
                rig.entry()
                        .setMoveEnded(MoveEndedEntry.newBuilder().setInode(file).setFence(fence)));
    }

    @Test
    void theMoveEndsWithTheMoversSession() {
        done(mover, begin(2));
        fence();
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(mover)));
        assertThat(own().getFenced()).isTrue();
        rig.apply(
                rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(mover)));
        assertThat(own().getFenced()).isFalse();
        assertThat(own().getMovingPool()).isZero();
        reap();
    }

    @Test
    void onlyWhoHoldsItOpenMovesItAndOnlyOne() {
        long third = rig.openSession(3);
        refused(third, begin(2), Errno.EBADF);
        done(mover, begin(2));
        refused(mover, begin(2), Errno.EBUSY);
        refused(other, begin(2), Errno.EBUSY);
        refused(other, step(MoveStep.MOVE_FENCE), Errno.ESTALE);
        done(other, step(MoveStep.MOVE_ABORT));
        assertThat(own().getMovingPool()).as("of no effect").isEqualTo(2);
        refused(mover, begin(9), Errno.EINVAL);
        refused(mover, step(MoveStep.MOVE_STEP_UNSPECIFIED), Errno.EINVAL);
        done(mover, releaseOp());
        assertThat(own().getMovingPool()).as("closed").isZero();
        reap();
        refused(other, begin(1), Errno.EEXIST);
    }

    /** Sequences of it are in three pools: with the inode they go from all of them. */
    @Test
    void whatItLeftGoesWithTheInode() {
        moveTo(2);
        moveTo(3);
        moveTo(1);
        moveTo(2);
        assertThat(rig.state.poolUsers(2)).isEqualTo(1);
        assertThat(rig.state.poolUsers(3)).isZero();
        done(other, releaseOp());
        done(mover, releaseOp());
        unlink();
        free();
        List<DeletionRecord> queue = rig.state.deletions(0, 10);
        assertThat(queue.stream().map(r -> r.getLayout().getPool()).toList())
                .containsExactlyInAnyOrder(1, 2, 3);
        assertThat(queue).allMatch(r -> r.getCutSequence() == 0);
        assertThat(queue.stream().filter(DeletionRecord::getLeft)).hasSize(2);
        reap();
        assertThat(rig.state.poolUsers(2)).isZero();
        assertThat(rig.state.poolUsers(3)).isZero();
    }

    /** As the leader does where nobody has it open. */
    private void free() {
        rig.apply(rig.entry().setFreeInodes(FreeInodesEntry.newBuilder().addInodes(file)));
    }

    private void unlink() {
        done(
                other,
                Mutation.newBuilder()
                        .setUnlink(
                                UnlinkOp.newBuilder()
                                        .setParent(ROOT_INODE)
                                        .setName(StateRig.name("f"))));
    }

    @Test
    void anInodeThatIsGoneBeforeItsLeftoversAreTakesThemAlong() {
        done(mover, begin(2));
        long fence = fence();
        truncated(fence);
        done(mover, switchPool(fence));
        done(other, releaseOp());
        unlink();
        assertThat(rig.state.deletions(0, 10)).as("it is open").hasSize(1);
        done(mover, releaseOp());
        free();
        List<DeletionRecord> queue = rig.state.deletions(0, 10);
        assertThat(queue).hasSize(2).allMatch(r -> r.getCutSequence() == 0);
        reap();
    }

    @Test
    void anOrphanThatIsMovedEndsWithItsMover() {
        done(other, releaseOp());
        done(mover, begin(2));
        unlink();
        done(mover, releaseOp());
        free();
        assertThat(rig.state.attr(file)).isNull();
        assertThat(rig.state.moves(0, 10)).isEmpty();
        assertThat(rig.state.deletions(0, 10)).hasSize(2);
        reap();
        assertThat(rig.state.poolUsers(2)).isZero();
    }

    /** So that 'cairn pool remove' works once everything has moved. */
    @Test
    void aPoolThatAllHaveLeftCanBeRemoved() {
        moveTo(2);
        done(mover, begin(3));
        long fence = fence();
        truncated(fence);
        done(mover, switchPool(fence));
        assertThat(removed(2).getErrno()).isEqualTo(Errno.EBUSY.number());
        assertThat(removed(3).getErrno()).isEqualTo(Errno.EBUSY.number());
        reap();
        assertThat(removed(2).getErrno()).isZero();
        moveTo(1);
        done(other, releaseOp());
        done(mover, releaseOp());
        unlink();
        free();
        assertThat(rig.state.deletions(0, 10)).as("not in the one removed").hasSize(2);
        reap();
    }

    private ApplyReply removed(int pool) {
        Pool present = Objects.requireNonNull(rig.state.map().pool(pool));
        return change(MapUpdate.newBuilder().addPools(present.toBuilder().setRemoved(true)));
    }

    @Test
    void theLayoutOfAFileThatIsMovedIsNotSet() {
        done(other, releaseOp());
        done(mover, begin(2));
        refused(
                mover,
                Mutation.newBuilder()
                        .setSetXattr(
                                SetXattrOp.newBuilder()
                                        .setInode(file)
                                        .setName(StateRig.name("cairn.layout"))
                                        .setValue(StateRig.name("pool=p3"))),
                Errno.EBUSY);
        done(mover, step(MoveStep.MOVE_ABORT));
        reap();
    }

    /** Leftovers of an ended session are cut as soon as that does not disturb the move. */
    @Test
    void leftoversAreCutAfterTheSwitch() {
        done(other, grow(MIB, 0));
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(other)));
        done(mover, begin(2));
        long fence = fence();
        rig.apply(
                rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(other)));
        assertThat(own().getPendingTruncationsCount()).as("the fence").isEqualTo(1);
        truncated(fence);
        done(mover, switchPool(fence));
        done(mover, releaseOp());
        assertThat(attr().getPendingTruncations(0).getSize()).isEqualTo(MIB);
        truncated(attr().getTruncateSequence());
        reap();
    }

    /** Else what the ended session wrote and never published would be read once the file grows. */
    @Test
    void aMoverDoesNotHoldUpTheCutOfLeftovers() {
        done(other, grow(MIB, 0));
        done(
                other,
                Mutation.newBuilder()
                        .setRaiseCeiling(
                                RaiseCeilingOp.newBuilder()
                                        .setInode(file)
                                        .setSizeCeiling(8 * MIB)));
        done(mover, begin(2));
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(other)));
        rig.apply(
                rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(other)));
        assertThat(own().getPendingTruncations(0).getSize()).isEqualTo(MIB);
        truncated(own().getTruncateSequence());
        long third = rig.openSession(3);
        done(third, openOp());
        done(third, size(4 * MIB));
        assertThat(own().getPendingTruncationsCount()).as("a mover writes nothing").isZero();
        done(mover, step(MoveStep.MOVE_ABORT));
        reap();
    }
}
