package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.UnknownFieldSet;
import io.cairn.common.config.ByteSize;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReturnIdsOp;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.raft.MemberRefusedException;
import io.cairn.mds.server.TestGroup.Answer;
import io.cairn.mds.store.MetaStateConfig;
import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client, and a state, of a version that does not exist yet. */
final class FutureVersionTest {
    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";
    private static final UnknownFieldSet FUTURE =
            UnknownFieldSet.newBuilder()
                    .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(7).build())
                    .build();

    @TempDir Path directory;

    @Test
    void whatIsNotKnownIsRefusedAndTheRestExecuted() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            assertThat(group.status().getFeatureLevel()).isEqualTo(Features.CURRENT);
            TestSession session = new TestSession(group);
            MkdirOp known = TestSession.mkdir("field").getMkdir();
            MutateRequest batch =
                    session.batch(
                            1,
                            TestSession.mkdir("before"),
                            TestSession.mutation().setUnknownFields(FUTURE).build(),
                            TestSession.mutation()
                                    .setMkdir(known.toBuilder().setUnknownFields(FUTURE))
                                    .build(),
                            Mutation.getDefaultInstance(),
                            TestSession.mkdir("after"));
            assertThat(session.mutate(batch).get().getResultsList())
                    .extracting(MutationResult::getErrno)
                    .containsExactly(
                            0,
                            Errno.EOPNOTSUPP.number(),
                            Errno.EOPNOTSUPP.number(),
                            Errno.EOPNOTSUPP.number(),
                            0);
            assertThat(session.lookup("field").status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(session.lookup("after").status().ok()).isTrue();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void aBatchWithWhatIsNotKnownIsRefusedAsAWhole() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            TestSession session = new TestSession(group);
            MutateRequest batch = session.batch(1, TestSession.mkdir("d"));
            Answer<MutateReply> answer =
                    session.mutate(batch.toBuilder().setUnknownFields(FUTURE).build());
            assertThat(answer.status().errno()).isEqualTo(Errno.EOPNOTSUPP);
            assertThat(session.mutate(batch).status().ok()).as("no number is used up").isTrue();
        }
    }

    @Test
    void aGroupOfALaterLevelIsNotServedByThisVersion() throws Exception {
        ClusterSettings later =
                ClusterSettings.newBuilder().setFeatureLevel(Features.CURRENT + 1).build();
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            group.stop(1);
            write(1, later);
            assertThatThrownBy(() -> group.start(1))
                    .isInstanceOf(MemberRefusedException.class)
                    .hasMessageContaining("feature level " + (Features.CURRENT + 1))
                    .hasMessageContaining("upgrade this member");
        }
    }

    @Test
    void aSettingThatAMemberMayNotKnowIsRefused() throws Exception {
        ClusterSettings earlier =
                ClusterSettings.newBuilder()
                        .setLeaderLeaseNanos(1_000_000_000L)
                        .setFeatureLevel(1)
                        .build();
        SettingsRequest rate =
                SettingsRequest.newBuilder().setName("reaper.rate").setValue("5").build();
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            group.awaitServing();
            for (int id = 1; id <= 3; id++) {
                group.stop(id);
                write(id, earlier);
            }
            // What the third one knows is not heard of, and so the level does not rise.
            group.start(1);
            group.start(2);
            group.awaitServing();
            assertThat(group.status().getFeatureLevel()).isEqualTo(1);
            RpcStatus refused = group.call(Method.SETTINGS, rate, SettingsReply.parser()).status();
            assertThat(refused.errno()).isEqualTo(Errno.EAGAIN);
            assertThat(refused.advice()).isEqualTo(Advice.GIVE_UP);
            assertThat(refused.detail()).contains("feature level 1");
            assertThat(group.fatal).hasNullValue();

            group.start(3);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() ->
                            group.call(Method.SETTINGS, rate, SettingsReply.parser())
                                    .status()
                                    .ok());
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** Members of before would give the file another id, or stop. */
    @Test
    void idsThatClientsChooseWaitUntilEveryMemberKnowsOfThem() throws Exception {
        ClusterSettings earlier =
                ClusterSettings.newBuilder()
                        .setLeaderLeaseNanos(1_000_000_000L)
                        .setFeatureLevel(Features.ID_RANGES - 1)
                        .build();
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            group.awaitServing();
            for (int id = 1; id <= 3; id++) {
                group.stop(id);
                write(id, earlier);
            }
            group.start(1);
            group.start(2);
            group.awaitServing();
            TestSession session = new TestSession(group);
            Mutation own = TestSession.mkdir("own").toBuilder().setOwnInode(50).build();
            MutateRequest batch =
                    session.batch(
                            1,
                            TestSession.acquireIds(10),
                            own,
                            TestSession.mutation()
                                    .setReturnIds(ReturnIdsOp.getDefaultInstance())
                                    .build(),
                            TestSession.mkdir("as-ever"));
            assertThat(session.mutate(batch).get().getResultsList())
                    .extracting(result -> Errno.of(result.getErrno()))
                    .containsExactly(
                            Errno.EOPNOTSUPP, Errno.EOPNOTSUPP, Errno.EOPNOTSUPP, Errno.OK);
            session.next += 4;

            group.start(3);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> session.mutate(TestSession.acquireIds(10)).getErrno() == 0);
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** Older members would not know what the map has of it. */
    @Test
    void aDataServerIsAskedAgainWhatItCanDoOnceTheMapCanHaveIt() throws Exception {
        ClusterSettings earlier =
                ClusterSettings.newBuilder()
                        .setLeaderLeaseNanos(1_000_000_000L)
                        .setFeatureLevel(3)
                        .build();
        String settings = SETTINGS + "[data_servers]\nlease = \"10min\"\n";
        try (TestGroup group = new TestGroup(directory, 3, settings);
                FakeDataServer server = new FakeDataServer(group)) {
            group.awaitServing();
            for (int id = 1; id <= 3; id++) {
                group.stop(id);
                write(id, earlier);
            }
            group.start(1);
            group.start(2);
            group.awaitServing();
            server.recovers = true;
            server.register();
            assertThat(recovers(group)).isFalse();
            assertThat(server.heartbeat(1).getRegisterAgain()).isFalse();

            group.start(3);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> group.status().getFeatureLevel() == Features.CURRENT);
            assertThat(server.heartbeat(1).getRegisterAgain()).isTrue();
            server.register();
            assertThat(recovers(group)).isTrue();
            assertThat(server.heartbeat(1).getRegisterAgain()).isFalse();

            FakeDataServer older = new FakeDataServer(group);
            older.register();
            assertThat(older.heartbeat(1).getRegisterAgain()).as("it has said no").isFalse();
            older.close();
            assertThat(group.fatal).hasNullValue();
        }
    }

    private static boolean recovers(TestGroup group) {
        return group.status().getMap().getServers(0).getRecovers();
    }

    /** Into the state of the stopped member, as another version would have. */
    private void write(int member, ClusterSettings settings) throws Exception {
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32))) {
            MetaStore store =
                    MetaStore.open(
                            directory.resolve("mds-" + member + "/namespace/current"),
                            new MetaStateConfig(
                                    RocksConfig.defaults(),
                                    memory,
                                    Meters.unpublished(),
                                    why -> {
                                        throw new AssertionError(why);
                                    },
                                    1024));
            StateTx tx = new StateTx(store, Time.EPOCH);
            tx.settings = settings;
            store.commit(tx, store.position().term(), store.position().index());
            store.database().flush();
            store.close();
        }
    }
}
