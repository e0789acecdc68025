package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MoveOp;
import io.cairn.common.proto.MoveStep;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.Mutation.OpCase;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which changes of an inode are those of the mutation that is answered. */
final class OwnChangesTest {
    @TempDir Path directory;
    private StateRig rig;
    private long session;
    private long other;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        level(Features.OWN_CHANGES);
        session = rig.openSession(1);
        other = rig.openSession(2);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private void level(int level) {
        rig.apply(rig.entry().setSettings(ClusterSettings.newBuilder().setFeatureLevel(level)));
    }

    private static Attr attr(MutationResult result) {
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private Attr done(long by, Mutation.Builder mutation) {
        return attr(rig.mutate(by, mutation));
    }

    private long created() {
        return done(session, Ops.createOpen(ROOT_INODE, "f")).getInode();
    }

    private static long steps(Attr attr) {
        assertThat(attr.hasChangedFrom()).isTrue();
        return attr.getChange() - attr.getChangedFrom();
    }

    @Test
    void eachMutationNamesItsOwnChange() {
        long f = created();
        Attr grown = done(session, Ops.grow(f, 100));
        assertThat(grown.getChangedFrom()).isZero();
        assertThat(grown.getChange()).isEqualTo(1);
        assertThat(steps(done(session, Ops.truncate(f, 5)))).isEqualTo(1);
        assertThat(steps(done(session, Ops.link(f, ROOT_INODE, "g")))).isEqualTo(1);
        assertThat(steps(done(session, Ops.rename(ROOT_INODE, "g", ROOT_INODE, "h", 0))))
                .isEqualTo(1);
        assertThat(steps(done(session, Ops.setXattr(f, "user.a", ByteString.EMPTY, 0))))
                .isEqualTo(1);
        assertThat(steps(done(session, Ops.unlink(ROOT_INODE, "h")))).isEqualTo(1);
        assertThat(rig.state.getAttr(f).hasChangedFrom()).isFalse();
    }

    @Test
    void everyOperationSaysSo() {
        long f = created();
        long closed = done(session, Ops.create(ROOT_INODE, "closed")).getInode();
        List<Mutation.Builder> all =
                List.of(
                        Ops.create(ROOT_INODE, "made"),
                        Ops.mkdir(ROOT_INODE, "d"),
                        Ops.symlink(ROOT_INODE, "s", "f"),
                        Ops.mknod(ROOT_INODE, "pipe", Mode.FIFO | 0644, 0),
                        Ops.link(f, ROOT_INODE, "g"),
                        Ops.rename(ROOT_INODE, "g", ROOT_INODE, "h", 0),
                        Ops.unlink(ROOT_INODE, "h"),
                        Ops.rmdir(ROOT_INODE, "d"),
                        Ops.setXattr(closed, "cairn.layout", StateRig.name("stripe_count=2"), 0),
                        Ops.setXattr(f, "user.a", ByteString.EMPTY, 0),
                        Ops.removeXattr(f, "user.a"),
                        Ops.setAttr(SetAttrOp.newBuilder().setInode(f).setUid(7)),
                        Ops.grow(f, 100),
                        Mutation.newBuilder()
                                .setRaiseCeiling(
                                        RaiseCeilingOp.newBuilder()
                                                .setInode(f)
                                                .setSizeCeiling(1 << 30)),
                        Ops.open(f),
                        Ops.acquireAppend(f),
                        Ops.returnAppend(f, 200),
                        Ops.lock(Ops.whole(f, 1, true)),
                        Mutation.newBuilder()
                                .setMove(
                                        MoveOp.newBuilder()
                                                .setInode(f)
                                                .setStep(MoveStep.MOVE_ABORT)),
                        Ops.release(f));
        for (Mutation.Builder each : all) {
            Attr attr = done(session, each);
            assertThat(attr.hasChangedFrom()).as("%s", each.getOpCase()).isTrue();
        }
        Set<OpCase> ofNoInode = Set.of(OpCase.ACQUIRE_IDS, OpCase.RETURN_IDS, OpCase.OP_NOT_SET);
        assertThat(all.stream().map(Mutation.Builder::getOpCase))
                .containsOnly(
                        Stream.of(OpCase.values())
                                .filter(o -> !ofNoInode.contains(o))
                                .toArray(OpCase[]::new));
    }

    @Test
    void aSizeThatComesAfterItsTimesKeepsThem() {
        long f = created();
        Attr set =
                done(
                        session,
                        Ops.setAttr(
                                SetAttrOp.newBuilder()
                                        .setInode(f)
                                        .setMtime(Timespec.newBuilder().setSeconds(5))));
        Mutation.Builder grow = Ops.grow(f, 100);
        grow.getGrowBuilder().setKeepsTimes(true);
        Attr grown = done(session, grow);
        assertThat(grown.getSize()).isEqualTo(100);
        assertThat(grown.getMtime()).isEqualTo(set.getMtime());
        assertThat(grown.getCtime()).isEqualTo(set.getCtime());
        assertThat(steps(grown)).isOne();
    }

    @Test
    void whatOthersChangedBetweenIsNotIncluded() {
        long f = created();
        done(session, Ops.grow(f, 100));
        done(other, Ops.grow(f, 200));
        Attr own = done(session, Ops.grow(f, 300));
        assertThat(own.getChangedFrom()).isEqualTo(2);
        assertThat(own.getChange()).isEqualTo(3);
    }

    @Test
    void whatChangesNothingSaysSo() {
        Attr made = done(session, Ops.createOpen(ROOT_INODE, "f"));
        assertThat(steps(made)).isZero();
        long f = made.getInode();
        done(other, Ops.grow(f, 100));
        assertThat(steps(done(session, Ops.open(f)))).isZero();
        assertThat(steps(done(session, Ops.acquireAppend(f)))).isZero();
        assertThat(steps(done(session, Ops.release(f)))).isZero();
    }

    @Test
    void aBatchTellsItsMutationsApart() {
        long f = created();
        List<MutationResult> results =
                rig.mutate(
                        session, List.of(Ops.grow(f, 100), Ops.truncate(f, 50), Ops.grow(f, 70)));
        for (int i = 0; i < results.size(); i++) {
            assertThat(attr(results.get(i)).getChangedFrom()).isEqualTo(i);
            assertThat(attr(results.get(i)).getChange()).isEqualTo(i + 1);
        }
    }

    @Test
    void whatItsCloseCutsIsAChangeOfItsOwn() {
        long f = created();
        done(other, Ops.open(f));
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(other)));
        rig.apply(
                rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(other)));
        assertThat(steps(done(session, Ops.release(f)))).isEqualTo(1);
    }

    @Test
    void aKeptAnswerIsGivenAsItWas() {
        long f = created();
        long number = rig.nextNumber(session);
        MutateRequest request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(number)
                        .setAckedBelow(number)
                        .addMutations(Ops.grow(f, 100))
                        .build();
        ApplyReply first = rig.apply(rig.entry().setMutate(request));
        done(other, Ops.grow(f, 200));
        ApplyReply again = rig.apply(rig.entry().setMutate(request));
        assertThat(again.getRepeatedResults()).isEqualTo(1);
        assertThat(again.getResultsList()).isEqualTo(first.getResultsList());
        assertThat(steps(attr(again.getResults(0)))).isEqualTo(1);
        rig.mutateFrom(session, number + 1);
    }

    @Test
    void membersOfTheLevelBeforeWouldKeepOtherAnswers(@TempDir Path older) throws IOException {
        try (StateRig before = StateRig.formatted(older)) {
            before.apply(
                    before.entry()
                            .setSettings(
                                    ClusterSettings.newBuilder()
                                            .setFeatureLevel(Features.OWN_CHANGES - 1)));
            long by = before.openSession(1);
            Attr made = attr(before.mutate(by, Ops.createOpen(ROOT_INODE, "f")));
            Attr grown = attr(before.mutate(by, Ops.grow(made.getInode(), 100)));
            assertThat(made.hasChangedFrom()).isFalse();
            assertThat(grown.hasChangedFrom()).isFalse();
        }
    }
}
