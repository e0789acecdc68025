package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.proto.Truncation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Truncation of a file that several sessions hold open, and the sizes they publish later. */
class SharedTruncationTest {
    private static final long MIB = 1 << 20;
    private static final Timespec LATER = Timespec.newBuilder().setSeconds(4_000_000_000L).build();

    @TempDir Path directory;
    private StateRig rig;

    /** Holds the file open and writes. */
    private long writer;

    /** Truncates it. */
    private long cutter;

    private long file;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        writer = rig.openSession(1);
        cutter = rig.openSession(2);
        file = done(writer, Ops.createOpen(ROOT_INODE, "f")).getAttr().getInode();
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private MutationResult done(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result;
    }

    private Attr attr() {
        return rig.state.getAttr(file);
    }

    private List<Long> cuts() {
        return attr().getPendingTruncationsList().stream().map(Truncation::getSize).toList();
    }

    /** A size made by writes that knew of no cut newer than this one. */
    private GrowOp.Builder written(long size, long sequence) {
        return GrowOp.newBuilder().setInode(file).setSize(size).setTruncateSequence(sequence);
    }

    private static Mutation.Builder grow(GrowOp.Builder grow) {
        return Mutation.newBuilder().setGrow(grow);
    }

    @Test
    void aSizeFromBeforeTheCutDoesNotCount() {
        done(writer, grow(written(MIB, 0)));
        done(cutter, Ops.truncate(file, 10));
        done(writer, grow(written(2 * MIB, 0)));
        assertThat(attr().getSize()).isEqualTo(10);
        done(writer, grow(written(MIB, 1)));
        assertThat(attr().getSize()).isEqualTo(MIB);
    }

    @Test
    void norOneThatComesWithTheClose() {
        done(writer, grow(written(MIB, 0)));
        done(cutter, Ops.truncate(file, 10));
        done(
                writer,
                Mutation.newBuilder()
                        .setRelease(
                                ReleaseOp.newBuilder()
                                        .setInode(file)
                                        .setOpens(1)
                                        .setGrow(written(2 * MIB, 0))));
        assertThat(attr().getSize()).isEqualTo(10);
    }

    @Test
    void timeAndPrivilegesOfSuchAWriteCountAllTheSame() {
        long setuid =
                done(writer, Ops.create(ROOT_INODE, "g", 04755, true, true)).getAttr().getInode();
        file = setuid;
        done(writer, grow(written(MIB, 0)));
        done(cutter, Ops.truncate(file, 0));
        done(writer, grow(written(MIB, 0).setMtime(LATER).setKillSuidSgid(true)));
        assertThat(attr().getSize()).isZero();
        assertThat(attr().getMtime()).isEqualTo(LATER);
        assertThat(attr().getMode() & 07777).isEqualTo(0755);
    }

    /** fallocate, and entries logged before sizes had a sequence. */
    @Test
    void aSizeThatNoBytesStandForCountsWheneverItComes() {
        done(writer, grow(written(MIB, 0)));
        done(cutter, Ops.truncate(file, 0));
        done(writer, Ops.grow(file, 500));
        assertThat(attr().getSize()).isEqualTo(500);
    }

    @Test
    void whoeverCutsAFileThatOthersHoldOpenIsToWaitForTheCut() {
        done(writer, grow(written(MIB, 0)));
        assertThat(done(writer, Ops.truncate(file, 1000)).getWaitTruncated())
                .as("nobody else has it open")
                .isZero();
        assertThat(done(cutter, Ops.truncate(file, 100)).getWaitTruncated())
                .as("by path, the other has it open")
                .isEqualTo(2);
        done(cutter, Ops.open(file));
        assertThat(done(cutter, Ops.truncate(file, 50)).getWaitTruncated()).isEqualTo(3);
        done(writer, Ops.release(file));
        assertThat(done(cutter, Ops.truncate(file, 10)).getWaitTruncated())
                .as("the other has closed it")
                .isZero();
        assertThat(cuts()).containsExactly(1000L, 100L, 50L, 10L);
    }

    @Test
    void theAnswerGivenAgainSaysSoAgain() {
        done(writer, grow(written(MIB, 0)));
        long number = rig.nextNumber(cutter);
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(cutter)
                        .setFirstNumber(number)
                        .addMutations(Ops.truncate(file, 5));
        for (int i = 0; i < 2; i++) {
            assertThat(rig.apply(rig.entry().setMutate(request)).getResults(0).getWaitTruncated())
                    .isEqualTo(1);
        }
        rig.mutateFrom(cutter, number + 1);
    }

    /** To the MDS the file has been empty all the time; the writer wrote before it was cut. */
    @Test
    void whatTheOthersHaveNotPublishedIsCutWhereTheSizeStays() {
        assertThat(done(cutter, Ops.truncate(file, 0)).getWaitTruncated()).isEqualTo(1);
        assertThat(cuts()).containsExactly(0L);
        done(writer, grow(written(MIB, 0)));
        assertThat(attr().getSize()).isZero();
    }

    @Test
    void andWhereItGrows() {
        done(writer, grow(written(10, 0)));
        assertThat(done(cutter, Ops.truncate(file, 1000)).getWaitTruncated()).isEqualTo(1);
        assertThat(cuts())
                .as("what the writer wrote below the new size stays")
                .containsExactly(1000L);
        done(writer, grow(written(MIB, 0)));
        assertThat(attr().getSize()).isEqualTo(1000);
    }

    @Test
    void butNotBeyondTheCeilingWhereNobodyHasWritten() {
        MutationResult grown = done(cutter, Ops.truncate(file, 1L << 40));
        assertThat(grown.getWaitTruncated()).isZero();
        assertThat(cuts()).isEmpty();
        done(
                writer,
                Mutation.newBuilder()
                        .setRaiseCeiling(
                                RaiseCeilingOp.newBuilder()
                                        .setInode(file)
                                        .setSizeCeiling(1L << 41)));
        assertThat(done(cutter, Ops.truncate(file, 1L << 40)).getWaitTruncated()).isEqualTo(1);
    }

    @Test
    void oneThatHasItOpenAloneCutsNothingByGrowing() {
        assertThat(done(writer, Ops.truncate(file, 0)).getWaitTruncated()).isZero();
        assertThat(done(writer, Ops.truncate(file, 1000)).getWaitTruncated()).isZero();
        assertThat(cuts()).isEmpty();
    }
}
