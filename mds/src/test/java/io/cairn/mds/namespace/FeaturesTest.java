package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.Pool;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.store.CorruptStateException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Entries of a version that does not exist yet. */
final class FeaturesTest {
    private static final UnknownFieldSet FUTURE =
            UnknownFieldSet.newBuilder()
                    .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(7).build())
                    .build();

    @TempDir Path directory;

    @Test
    void whatIsNotKnownIsFoundAtAnyDepth() throws Exception {
        LogEntry known = mkdir(MkdirOp.getDefaultInstance(), UnknownFieldSet.getDefaultInstance());
        assertThat(Features.unknown(known)).isNull();
        assertThat(plain(known)).isEqualTo(known);

        LogEntry field = mkdir(ofTheFuture(), UnknownFieldSet.getDefaultInstance());
        assertThat(Features.unknown(field)).isEqualTo("field 99 of cairn.MkdirOp");
        assertThat(plain(field)).isNull();
        LogEntry operation = mkdir(null, FUTURE);
        assertThat(Features.unknown(operation)).isEqualTo("field 99 of cairn.Mutation");
        assertThat(plain(operation)).isNull();

        LogEntry value =
                LogEntry.newBuilder()
                        .setMapChange(
                                MapChangeEntry.newBuilder()
                                        .setUpdate(
                                                MapUpdate.newBuilder()
                                                        .addPools(
                                                                Pool.newBuilder()
                                                                        .setFailureDomainValue(
                                                                                77))))
                        .build();
        assertThat(Features.unknown(value)).isEqualTo("value 77 of cairn.Pool.failure_domain");
    }

    @Test
    void aFieldOfALaterLevelNeedsThatLevel() {
        Features features = new Features(Map.of("cairn.MkdirOp.mode", 3, "cairn.Mutation.link", 4));
        LogEntry without =
                mkdir(MkdirOp.getDefaultInstance(), UnknownFieldSet.getDefaultInstance());
        LogEntry with =
                mkdir(
                        MkdirOp.newBuilder().setMode(0700).build(),
                        UnknownFieldSet.getDefaultInstance());
        assertThat(features.above(without, 1)).isNull();
        assertThat(features.above(with, 2)).isEqualTo("cairn.MkdirOp.mode");
        assertThat(features.above(with, 3)).isNull();
        assertThat(new Features().above(with, 1)).isNull();
    }

    @Test
    void theTableNamesFieldsThatThereAre() {
        LogEntry rate =
                LogEntry.newBuilder()
                        .setSettings(ClusterSettings.newBuilder().setReaperInodesPerSecond(0))
                        .build();
        assertThat(new Features().above(rate, 1))
                .isEqualTo("cairn.ClusterSettings.reaper_inodes_per_second");
        assertThat(new Features().above(rate, 2)).isNull();
    }

    @Test
    void locksNeedTheLevelThatKnowsThem() {
        LogEntry entry =
                LogEntry.newBuilder()
                        .setMutate(
                                MutateRequest.newBuilder()
                                        .addMutations(Ops.lock(Ops.whole(5, 7, true))))
                        .build();
        assertThat(new Features().above(entry, Features.GROWTH - 1))
                .isEqualTo("cairn.Mutation.set_lock");
        assertThat(new Features().above(entry, Features.GROWTH)).isNull();
    }

    @Test
    void idsThatClientsChooseNeedTheLevelThatKnowsThem() {
        for (Mutation.Builder mutation :
                List.of(Ops.acquireIds(3), Ops.returnIds(), Ops.mkdir(1, "d").setOwnInode(7))) {
            LogEntry entry =
                    LogEntry.newBuilder()
                            .setMutate(MutateRequest.newBuilder().addMutations(mutation))
                            .build();
            assertThat(new Features().above(entry, Features.ID_RANGES - 1)).isNotNull();
            assertThat(new Features().above(entry, Features.ID_RANGES)).isNull();
        }
    }

    @Test
    void anOperationThatIsNotKnownStopsTheMember() throws Exception {
        stops(mkdir(null, FUTURE), "field 99 of cairn.Mutation");
    }

    @Test
    void aFieldThatIsNotKnownStopsTheMember() throws Exception {
        stops(
                mkdir(ofTheFuture(), UnknownFieldSet.getDefaultInstance()),
                "field 99 of cairn.MkdirOp");
    }

    @Test
    void anEntryThatIsNotKnownStopsTheMember() throws Exception {
        stops(LogEntry.newBuilder().setUnknownFields(FUTURE).build(), "field 99 of cairn.LogEntry");
    }

    @Test
    void aLevelThatIsNotKnownStopsTheMember() throws Exception {
        stops(
                LogEntry.newBuilder()
                        .setSettings(
                                ClusterSettings.newBuilder().setFeatureLevel(Features.CURRENT + 1))
                        .build(),
                "feature level " + (Features.CURRENT + 1));
    }

    @Test
    void theLevelNeverFallsAndWhatIsNotNamedStays() throws Exception {
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.apply(
                    rig.entry()
                            .setSettings(
                                    ClusterSettings.newBuilder()
                                            .setLeaderLeaseNanos(5)
                                            .setFeatureLevel(Features.CURRENT)));
            rig.apply(rig.entry().setSettings(ClusterSettings.newBuilder().setLeaderLeaseNanos(7)));
            assertThat(rig.state.settings().getFeatureLevel()).isEqualTo(Features.CURRENT);
            assertThat(rig.state.settings().getLeaderLeaseNanos()).isEqualTo(7);
        }
        try (StateRig again = new StateRig(directory)) {
            assertThat(again.state.settings().getLeaderLeaseNanos()).isEqualTo(7);
        }
    }

    private void stops(LogEntry entry, String what) throws Exception {
        try (StateRig rig = StateRig.formatted(directory)) {
            long session = rig.openSession(1);
            assertThat(session).isEqualTo(1);
            long before = rig.state.appliedIndex();
            ByteString bytes = entry.toByteString();
            assertThat(rig.state.readable(bytes)).as("not taken for damage").isTrue();
            assertThatThrownBy(() -> rig.state.apply(1, before + 1, bytes))
                    .isInstanceOf(CorruptStateException.class)
                    .hasMessageContaining(what)
                    .hasMessageContaining("upgrade this member");
            assertThat(rig.state.appliedIndex()).isEqualTo(before);
        }
    }

    private static @Nullable LogEntry plain(LogEntry entry) throws Exception {
        return Features.plain(LogEntry.parser(), entry.toByteString().asReadOnlyByteBuffer());
    }

    private static MkdirOp ofTheFuture() {
        return MkdirOp.newBuilder()
                .setParent(1)
                .setName(StateRig.name("d"))
                .setMode(0755)
                .setInode(100)
                .setUnknownFields(FUTURE)
                .build();
    }

    /** A batch of session 1 with one mutation. */
    private static LogEntry mkdir(@Nullable MkdirOp op, UnknownFieldSet unknown) {
        Mutation.Builder mutation = Mutation.newBuilder().setUnknownFields(unknown);
        if (op != null) {
            mutation.setMkdir(op);
        }
        return LogEntry.newBuilder()
                .setMutate(
                        MutateRequest.newBuilder()
                                .setSession(1)
                                .setFirstNumber(1)
                                .setAckedBelow(1)
                                .addMutations(mutation))
                .build();
    }
}
