package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions that hold many files open end in slices, an entry each. */
class SessionSlicesTest {
    private static final int FILES = 10_000;
    private static final int SLICE = 1_000;

    @TempDir Path directory;
    private StateRig rig;
    private long session;
    private final List<Long> files = new ArrayList<>();
    private final List<String> heard = new ArrayList<>();

    /** Every second file has lost its name. */
    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory.resolve("state"));
        session = rig.openSession(1);
        rig.state.addListener(
                new StateListener() {
                    @Override
                    public void sessionEnded(long id) {
                        heard.add("ended " + id);
                    }
                });
        for (int from = 0; from < FILES; from += SLICE) {
            List<Mutation.Builder> batch = new ArrayList<>();
            for (int i = from; i < from + SLICE; i++) {
                batch.add(Ops.createOpen(ROOT_INODE, "f" + i));
            }
            for (MutationResult made : rig.mutate(session, batch)) {
                files.add(made.getAttr().getInode());
            }
            batch.clear();
            for (int i = from; i < from + SLICE; i += 2) {
                batch.add(Ops.unlink(ROOT_INODE, "f" + i));
            }
            rig.mutate(session, batch);
        }
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private @Nullable SessionRecord record() {
        return rig.state.session(session);
    }

    private Errno closeSession() {
        return errno(
                rig.apply(
                        rig.entry()
                                .setCloseSession(
                                        CloseSessionEntry.newBuilder()
                                                .setSession(session)
                                                .setMaxOpens(SLICE))));
    }

    private Errno release() {
        return errno(
                rig.apply(
                        rig.entry()
                                .setReleaseSession(
                                        ReleaseSessionEntry.newBuilder()
                                                .setSession(session)
                                                .setMaxOpens(SLICE))));
    }

    private Errno evict() {
        return errno(
                rig.apply(
                        rig.entry()
                                .setEvictSession(
                                        EvictSessionEntry.newBuilder().setSession(session))));
    }

    private Errno mutate() {
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(rig.nextNumber(session))
                        .addMutations(Ops.mkdir(ROOT_INODE, "late"));
        return errno(rig.apply(rig.entry().setMutate(request)));
    }

    private Errno forget() {
        long epoch = rig.state.map().epoch();
        return errno(
                rig.apply(
                        rig.entry()
                                .setMapChange(
                                        MapChangeEntry.newBuilder()
                                                .setBaseEpoch(epoch)
                                                .setUpdate(
                                                        MapUpdate.newBuilder()
                                                                .setBaseEpoch(epoch)
                                                                .setEpoch(epoch + 1)
                                                                .addForgottenSessions(session)))));
    }

    private static Errno errno(ApplyReply reply) {
        return Errno.of(reply.getErrno());
    }

    /** What a slice leaves, after so many of them. */
    private void assertReleased(int slices) {
        long released = (long) slices * SLICE;
        SessionRecord record = record();
        if (released == FILES) {
            assertThat(record).isNull();
        } else {
            assertThat(Objects.requireNonNull(record).getOpenFiles()).isEqualTo(FILES - released);
        }
        assertThat(rig.state.counters().deletionInodes())
                .as("for the reaper to take")
                .isEqualTo(released / 2);
        assertThat(rig.state.orphans(0, FILES)).hasSize((int) (FILES - released) / 2);
        for (int i = 0; i < FILES; i += SLICE - 1) {
            assertThat(rig.state.openCount(session, files.get(i)))
                    .as("opens of file " + i)
                    .isEqualTo(i < released ? 0 : 1);
        }
    }

    @Test
    void aSessionThatClosesIsOverAtOnceAndItsOpensGoSliceBySlice() {
        assertThat(closeSession()).isEqualTo(Errno.OK);
        assertReleased(1);
        assertThat(heard).containsExactly("ended " + session);
        heard.clear();
        for (int slice = 2; slice <= FILES / SLICE; slice++) {
            assertThat(mutate()).isEqualTo(Errno.ESTALE);
            assertThat(evict()).as("it is over").isEqualTo(Errno.ESTALE);
            assertThat(closeSession()).as("closed before").isEqualTo(Errno.OK);
            assertReleased(slice - 1);
            assertThat(release()).isEqualTo(Errno.OK);
            assertReleased(slice);
        }
        assertThat(heard).as("told once").isEmpty();
        assertThat(release()).as("again").isEqualTo(Errno.OK);
        assertThat(rig.state.sessions()).isEmpty();
    }

    @Test
    void itsClientComesBackAsAnotherMeanwhile() {
        closeSession();
        long other = rig.openSession(1);
        assertThat(other).isNotEqualTo(session);
        rig.mutate(other, Ops.open(files.get(FILES - 1)));
        while (record() != null) {
            release();
        }
        assertThat(rig.openSession(1)).as("still that one").isEqualTo(other);
        assertThat(rig.state.openCount(other, files.get(FILES - 1))).isEqualTo(1);
    }

    @Test
    void anEvictedOneIsRefusedByTheMapUntilItsLastSliceIsThrough() {
        assertThat(evict()).isEqualTo(Errno.OK);
        assertReleased(0);
        assertThat(Objects.requireNonNull(record()).getEnding()).isFalse();
        for (int slice = 1; slice <= FILES / SLICE; slice++) {
            assertThat(closeSession()).isEqualTo(Errno.ESTALE);
            assertThat(forget()).as("not yet").isEqualTo(Errno.EINVAL);
            assertThat(release()).isEqualTo(Errno.OK);
            assertReleased(slice);
        }
        assertThat(rig.state.map().refusedSessions()).containsExactly(session);
        assertThat(forget()).isEqualTo(Errno.OK);
    }

    /**
     * The same bytes on a member that was killed, one that got a checkpoint, and one that slept.
     */
    @Test
    void membersThatComeInBetweenTheSlicesEndWithTheSameState() throws IOException {
        closeSession();
        release();
        Path checkpoint = directory.resolve("checkpoint");
        rig.state.checkpoint(checkpoint);
        release();
        rig.state.flush();
        rig.close();
        List<ByteString> log = rig.log;
        rig = new StateRig(rig.directory);
        rig.log.addAll(log);
        assertReleased(3);
        assertThat(Objects.requireNonNull(record()).getEnding()).as("found again").isTrue();
        while (record() != null) {
            release();
        }
        assertReleased(FILES / SLICE);
        rig.close();
        String expected = Fingerprint.of(rig.directory);
        Path restored = directory.resolve("restored");
        try (MetaState state = MetaState.open(restored, StateRig.config(16))) {
            state.restore(checkpoint);
            replay(state);
        }
        assertThat(Fingerprint.of(restored)).isEqualTo(expected);
        Path late = directory.resolve("late");
        try (MetaState state = MetaState.open(late, StateRig.config())) {
            replay(state);
        }
        assertThat(Fingerprint.of(late)).isEqualTo(expected);
    }

    private void replay(MetaState state) {
        for (int i = 0; i < rig.log.size(); i++) {
            state.apply(1, i + 1, rig.log.get(i));
        }
    }

    /** A leader of an older version says nothing of slices, and its log is applied as it was. */
    @Test
    void anEntryWithoutALimitGivesEverythingBack() {
        rig.apply(rig.entry().setCloseSession(CloseSessionEntry.newBuilder().setSession(session)));
        assertReleased(FILES / SLICE);
    }
}
