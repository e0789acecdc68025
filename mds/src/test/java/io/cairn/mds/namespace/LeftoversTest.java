package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.TruncatedEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes that a client wrote beyond the size it has published, after the client is gone: they must
 * not show where the file grows over them.
 */
class LeftoversTest {
    private static final long MIB = 1 << 20;

    @TempDir Path directory;
    private StateRig rig;

    /** The one that dies. */
    private long writer;

    private long other;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        writer = rig.openSession(1);
        other = rig.openSession(2);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private Attr done(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private long created() {
        return done(writer, Ops.createOpen(ROOT_INODE, "f")).getInode();
    }

    private void end(long session) {
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
        rig.apply(
                rig.entry()
                        .setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(session)));
    }

    private void applied(long inode, long sequence) {
        rig.apply(
                rig.entry()
                        .setTruncated(
                                TruncatedEntry.newBuilder().setInode(inode).setSequence(sequence)));
    }

    private List<Long> cuts(long inode) {
        return rig.state.getAttr(inode).getPendingTruncationsList().stream()
                .map(Truncation::getSize)
                .toList();
    }

    @Test
    void whatADeadSessionWroteBeyondTheSizeIsCut() {
        long f = created();
        Attr before = done(writer, Ops.grow(f, 100));
        end(writer);
        Attr after = rig.state.getAttr(f);
        assertThat(cuts(f)).containsExactly(100L);
        assertThat(after.getSize()).isEqualTo(100);
        assertThat(after.getTruncateSequence()).isEqualTo(1);
        assertThat(after.getChange()).as("news for clients").isGreaterThan(before.getChange());
        assertThat(after.getMtime()).isEqualTo(before.getMtime());
        assertThat(after.getCtime()).isEqualTo(before.getCtime());
        // Truncated to what it is already: nothing is left that could be cut.
        assertThat(done(other, Ops.truncate(f, 100)).getTruncateSequence()).isEqualTo(1);
        assertThat(done(other, Ops.truncate(f, MIB)).getTruncateSequence()).isEqualTo(1);
    }

    private static Mutation.Builder leaves(long inode, long size) {
        GrowOp.Builder grow =
                GrowOp.newBuilder().setInode(inode).setSize(size).setTruncateSequence(0);
        return Mutation.newBuilder().setGrow(grow.setLeftovers(true));
    }

    @Test
    void whatAFailedWriteLeftBeyondTheSizeIsCutAtOnce() {
        long f = created();
        Attr after = done(writer, leaves(f, 100));
        assertThat(cuts(f)).containsExactly(100L);
        assertThat(after.getSize()).isEqualTo(100);
        assertThat(after.getTruncateSequence()).isEqualTo(1);
        done(writer, Ops.release(f));
        assertThat(cuts(f)).as("nothing is left").containsExactly(100L);
    }

    @Test
    void whatAFailedWriteLeftIsCutWhenNoOthersHaveBytesThere() {
        long f = created();
        done(other, Ops.open(f));
        done(writer, leaves(f, 100));
        assertThat(cuts(f)).isEmpty();
        done(other, Ops.grow(f, 200));
        done(other, Ops.release(f));
        done(writer, Ops.truncate(f, MIB));
        assertThat(cuts(f)).containsExactly(200L);
    }

    @Test
    void whatAFailedWriteLeftIsCutWithTheLastClose() {
        long f = created();
        done(other, Ops.open(f));
        done(writer, leaves(f, 100));
        done(writer, Ops.release(f));
        assertThat(cuts(f)).isEmpty();
        done(other, Ops.release(f));
        assertThat(cuts(f)).containsExactly(100L);
    }

    @Test
    void theEndOfASessionThatWasNotEvictedLeavesNothingEither() {
        long f = created();
        rig.apply(rig.entry().setCloseSession(CloseSessionEntry.newBuilder().setSession(writer)));
        assertThat(cuts(f)).containsExactly(0L);
    }

    @Test
    void whereTheChunksEndThereIsNothingToCut() {
        long f = created();
        done(writer, Ops.grow(f, StateRig.LAYOUT.getChunkSize()));
        end(writer);
        assertThat(cuts(f)).isEmpty();
    }

    @Test
    void whatIsClosedIsPublishedAndNotCut() {
        long f = created();
        done(writer, Ops.release(f));
        end(writer);
        assertThat(cuts(f)).isEmpty();
        done(other, Ops.setXattr(f, "cairn.layout", name("stripe_count=2"), 0));
    }

    @Test
    void theCutWaitsForTheLastOfTheOthersToClose() throws IOException {
        long f = created();
        long third = rig.openSession(3);
        done(other, Ops.open(f));
        done(third, Ops.open(f));
        end(writer);
        assertThat(cuts(f)).as("the others' bytes may lie there too").isEmpty();
        done(other, Ops.grow(f, 2 * MIB));
        done(other, Ops.release(f));
        assertThat(cuts(f)).isEmpty();
        List<ByteString> log = rig.log;
        rig.close();
        rig = new StateRig(directory);
        rig.log.addAll(log);
        rig.mutateFrom(third, 2);
        done(third, Ops.grow(f, 3 * MIB));
        done(third, Ops.release(f));
        assertThat(cuts(f)).as("after a restart").containsExactly(3 * MIB);
    }

    @Test
    void theOnlyOneLeftCutsWhenItSetsTheSize() {
        long f = created();
        done(other, Ops.open(f));
        end(writer);
        assertThat(cuts(f)).isEmpty();
        assertThat(done(other, Ops.truncate(f, 2 * MIB)).getSize()).isEqualTo(2 * MIB);
        assertThat(cuts(f)).as("where the old size was").containsExactly(0L);
        done(other, Ops.release(f));
        assertThat(cuts(f)).as("once").containsExactly(0L);
    }

    @Test
    void theOnlyOneLeftCutsWhenItGivesTheFileTheSizeItHas() {
        long f = created();
        done(other, Ops.open(f));
        end(writer);
        done(other, Ops.truncate(f, 0));
        assertThat(cuts(f)).containsExactly(0L);
    }

    @Test
    void settingTheSizeCutsThemWithWhatTheOthersHaveNotPublished() throws IOException {
        long f = created();
        long third = rig.openSession(3);
        done(other, Ops.open(f));
        done(third, Ops.open(f));
        end(writer);
        done(other, Ops.truncate(f, 0));
        assertThat(cuts(f)).containsExactly(0L);
        done(other, Ops.release(f));
        done(third, Ops.release(f));
        assertThat(cuts(f)).as("once").containsExactly(0L);
    }

    @Test
    void aShrinkCutsLeftoversToo() {
        long f = created();
        long third = rig.openSession(3);
        done(writer, Ops.grow(f, MIB));
        done(other, Ops.open(f));
        done(third, Ops.open(f));
        end(writer);
        done(other, Ops.truncate(f, 5));
        done(other, Ops.release(f));
        done(third, Ops.release(f));
        assertThat(cuts(f)).containsExactly(5L);
    }

    @Test
    void withTooManyCutsPendingItComesAfterThem() {
        long f = created();
        done(writer, Ops.grow(f, 1000));
        for (int i = 1; i <= Truncations.MAX_PENDING; i++) {
            done(writer, Ops.truncate(f, 1000 - i));
        }
        end(writer);
        assertThat(cuts(f)).containsExactly(999L, 998L, 997L, 996L);
        assertThat(Errno.of(rig.mutate(other, Ops.truncate(f, MIB)).getErrno()))
                .isEqualTo(Errno.EAGAIN);
        applied(f, 1);
        assertThat(cuts(f)).containsExactly(998L, 997L, 996L, 996L);
        applied(f, 5);
        assertThat(rig.state.pendingTruncations(0, 9)).isEmpty();
        assertThat(done(other, Ops.truncate(f, MIB)).getTruncateSequence()).isEqualTo(5);
    }

    @Test
    void aFileThatMayHaveDataTakesNoOtherLayout() {
        long f = created();
        end(writer);
        assertThat(
                        Errno.of(
                                rig.mutate(
                                                other,
                                                Ops.setXattr(
                                                        f,
                                                        "cairn.layout",
                                                        name("stripe_count=2"),
                                                        0))
                                        .getErrno()))
                .isEqualTo(Errno.ENOTEMPTY);
    }

    @Test
    void theCutReachesToTheCeilingAndOrphansAreDeletedAsAWhole() {
        long f = created();
        done(
                writer,
                Mutation.newBuilder()
                        .setRaiseCeiling(
                                RaiseCeilingOp.newBuilder().setInode(f).setSizeCeiling(64 * MIB)));
        long g = done(writer, Ops.createOpen(ROOT_INODE, "g")).getInode();
        done(writer, Ops.unlink(ROOT_INODE, "g"));
        end(writer);
        assertThat(rig.state.pendingTruncations(0, 9)).hasSize(1);
        assertThat(rig.state.getAttr(f).getSizeCeiling()).isEqualTo(64 * MIB);
        assertThat(rig.state.deletions(0, 9).getFirst().getInode()).isEqualTo(g);
    }
}
