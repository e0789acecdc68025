package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.config.ByteSize;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.CompactRequest;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.LevelStatus;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.background.Truncator;
import io.cairn.mds.server.TestGroup.Answer;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.WriteBatch;

/** One member over RPC. */
final class MdsServerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir Path directory;

    @Test
    void mutationsAreExecutedOnceHoweverOftenAndInWhateverOrderTheyAreSent() throws Exception {
        long seed = TestSeed.of("MdsServerTest");
        Random random = new Random(seed);
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            List<CompletableFuture<Answer<MutateReply>>> answers = new ArrayList<>();
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                order.add(i);
                order.add(i);
            }
            Collections.shuffle(order, random);
            for (int i : order) {
                answers.add(session.send(1, session.batch(1 + i, TestSession.mkdir("d" + i))));
            }
            long[] inodes = new long[200];
            for (int i = 0; i < order.size(); i++) {
                Answer<MutateReply> answer = answers.get(i).get(30, TimeUnit.SECONDS);
                if (!answer.status().ok() && answer.status().advice() == Advice.RETRY) {
                    // Waited as long as allowed, or was replaced by its repetition.
                    continue;
                }
                MutationResult result = answer.get().getResults(0);
                long inode = TestSession.inode(result).getInode();
                long before = inodes[order.get(i)];
                assertThat(before == 0 || before == inode).isTrue();
                inodes[order.get(i)] = inode;
            }
            for (int i = 0; i < 200; i++) {
                long inode = session.lookup("d" + i).get().getAttr().getInode();
                assertThat(inode).isEqualTo(inodes[i]);
            }
        }
    }

    @Test
    void aRestartBetweenCommitAndReplyChangesNoAnswer() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            List<Long> inodes = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                List<CompletableFuture<Answer<MutateReply>>> lost = new ArrayList<>();
                for (int i = 0; i < 50; i++) {
                    long n = session.next + i;
                    lost.add(session.send(1, session.batch(n, TestSession.mkdir("d" + n))));
                }
                // At least one is in; what becomes of the others' answers nobody knows.
                lost.get(0).get(30, TimeUnit.SECONDS);
                group.stop(1);
                group.start(1);
                for (int i = 0; i < 50; i++) {
                    long n = session.next + i;
                    MutationResult again =
                            session.mutate(session.batch(n, TestSession.mkdir("d" + n)))
                                    .get()
                                    .getResults(0);
                    inodes.add(TestSession.inode(again).getInode());
                    Answer<MutateReply> first = lost.get(i).get(30, TimeUnit.SECONDS);
                    if (first.status().ok()) {
                        assertThat(first.get().getResults(0)).isEqualTo(again);
                    }
                }
                session.next += 50;
            }
            assertThat(inodes).doesNotHaveDuplicates();
            for (int n = 1; n < session.next; n++) {
                assertThat(session.lookup("d" + n).get().getAttr().getInode())
                        .isEqualTo(inodes.get(n - 1));
            }
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void unknownSessionsAreFencedAndBadRequestsRefused() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            Answer<MutateReply> stranger =
                    session.mutate(
                            session.batch(1, TestSession.mkdir("d")).toBuilder()
                                    .setSession(999)
                                    .build());
            assertThat(stranger.status().errno()).isEqualTo(Errno.ESTALE);
            assertThat(stranger.status().advice()).isEqualTo(Advice.FENCED);
            Answer<MutateReply> empty = session.mutate(session.batch(1));
            assertThat(empty.status().errno()).isEqualTo(Errno.EINVAL);
            assertThat(session.lookup("nothing").status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(session.mutate(TestSession.unlink("nothing")).getErrno())
                    .isEqualTo(Errno.ENOENT.number());
        }
    }

    @Test
    void aBatchThatIsTooLargeForTheLogIsRefusedAndTheSessionGoesOn() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            ByteString value = ByteString.copyFrom(new byte[65_536]);
            Mutation[] many = new Mutation[80];
            for (int i = 0; i < many.length; i++) {
                many[i] = TestSession.setXattr(1, "user.a" + i, value);
            }
            Answer<MutateReply> answer = session.mutate(session.batch(1, many));
            assertThat(answer.status().errno()).isEqualTo(Errno.EINVAL);
            assertThat(answer.status().detail()).contains("are the most");
            TestSession.inode(session.mutate(TestSession.mkdir("d")));
        }
    }

    @Test
    void namesAndDescriptionsAreBounded() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                RpcClient server = group.newClient(Role.ROLE_DATA_SERVER)) {
            // Two bytes each, of which the last is not cut in half.
            String text = "x" + "\u00e9".repeat(3000);
            OpenSessionRequest open =
                    OpenSessionRequest.newBuilder()
                            .setClientUuid(ByteString.copyFrom(new byte[16]))
                            .setDescription(text)
                            .build();
            group.call(Method.OPEN_SESSION, open, OpenSessionReply.parser()).get();
            assertThat(group.status().getSessions(0).getDescription())
                    .isEqualTo(text.substring(0, 512));
            for (String label : List.of("host", "rack")) {
                RegisterServerRequest.Builder register =
                        RegisterServerRequest.newBuilder()
                                .setServerUuid(ByteString.copyFrom(new byte[16]))
                                .setIncarnation(ByteString.copyFrom(new byte[16]))
                                .setAddress("127.0.0.1:1");
                if (label.equals("host")) {
                    register.setHost("h".repeat(256));
                } else {
                    register.setRack("r".repeat(256));
                }
                Answer<RegisterServerReply> refused =
                        group.callAs(
                                server,
                                Method.REGISTER_SERVER,
                                register.build(),
                                RegisterServerReply.parser());
                assertThat(refused.status().errno()).isEqualTo(Errno.EINVAL);
                assertThat(refused.status().detail()).contains(label + " has 256 bytes");
            }
        }
    }

    @Test
    void whatWaitsForAnEarlierMutationIsAnsweredWhenItsSessionIsEvicted() throws Exception {
        String settings = QUICK + "[sessions]\nrenew_interval = \"50ms\"\nexpiry = \"300ms\"\n";
        try (TestGroup group = new TestGroup(directory, 1, settings)) {
            TestSession session = new TestSession(group);
            Answer<MutateReply> answer =
                    session.send(1, session.batch(5, TestSession.mkdir("d")))
                            .get(30, TimeUnit.SECONDS);
            assertThat(answer.status().advice()).isEqualTo(Advice.FENCED);
        }
    }

    @Test
    void metadataThatCannotBeReadEndsTheServer() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            long inode = TestSession.inode(session.mutate(TestSession.mkdir("d"))).getInode();
            group.stop(1);
            damage(group.config(1), inode);
            group.start(1);
            group.awaitServing();
            RpcStatus status =
                    await().atMost(PATIENCE)
                            .until(
                                    () -> lookupOnce(group, "d").status(),
                                    s -> s.ok() || s.detail().contains("inode " + inode));
            assertThat(status.advice()).isEqualTo(Advice.RETRY);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(group.fatal.get()).contains("inode " + inode));
        }
    }

    private static Answer<LookupReply> lookupOnce(TestGroup group, String name) {
        return group.ask(1, Method.LOOKUP, TestSession.lookupRequest(name), LookupReply.parser());
    }

    /** The inode's record in the database becomes nonsense. */
    private static void damage(MdsConfig config, long inode) throws Exception {
        Path database = config.dataDir().resolve("namespace/current");
        assertThat(RocksDatabase.exists(database)).isTrue();
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32));
                RocksDatabase rocks =
                        RocksDatabase.open(
                                database,
                                "metadata",
                                config.rocksdb(),
                                memory,
                                Meters.unpublished(),
                                reason -> {
                                    throw new AssertionError(reason);
                                });
                WriteBatch batch = new WriteBatch()) {
            batch.put(
                    ByteBuffer.allocate(9).put((byte) 0x10).putLong(inode).array(),
                    new byte[] {1, 2, 3});
            rocks.write(batch);
            rocks.flush();
        }
    }

    @Test
    void garbageClosesItsConnectionAndNothingElse() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            byte[] garbage = new byte[64 << 10];
            new Random(1).nextBytes(garbage);
            try (Socket socket =
                    new Socket(group.address(1).getAddress(), group.address(1).getPort())) {
                socket.setSoTimeout(20_000);
                try {
                    socket.getOutputStream().write(garbage);
                    assertThat(socket.getInputStream().read()).isEqualTo(-1);
                } catch (IOException e) {
                    assertThat(e).hasMessageMatching("(?i).*(reset|broken pipe).*");
                }
            }
            assertThat(TestSession.inode(session.mutate(TestSession.mkdir("d"))).getInode())
                    .isPositive();
        }
    }

    /** What {@code cairn compact mds-1} does. */
    @Test
    void anAdministratorSeesItsDatabaseAndHasItCompacted() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            TestSession session = new TestSession(group);
            assertThat(TestSession.inode(session.mutate(TestSession.mkdir("d"))).getInode())
                    .isPositive();
            assertThat(
                            group.ask(
                                            1,
                                            Method.COMPACT,
                                            CompactRequest.getDefaultInstance(),
                                            DatabasesReply.parser())
                                    .status()
                                    .errno())
                    .as("a client")
                    .isEqualTo(Errno.EPERM);
            try (RpcLoops loops = new RpcLoops(1, "admin");
                    RpcClient admin =
                            new RpcClient(
                                    loops,
                                    () -> Hello.newBuilder().setRole(Role.ROLE_ADMIN).build(),
                                    HelloPolicy.ACCEPT,
                                    RpcOptions.DEFAULT)) {
                group.callAs(
                        admin,
                        Method.COMPACT,
                        CompactRequest.getDefaultInstance(),
                        DatabasesReply.parser());
                await().atMost(PATIENCE)
                        .untilAsserted(() -> {
                            DatabaseStatus database =
                                    group.callAs(
                                                    admin,
                                                    Method.DATABASES,
                                                    DatabasesRequest.getDefaultInstance(),
                                                    DatabasesReply.parser())
                                            .get()
                                            .getDatabases(0);
                            assertThat(database.getName()).isEqualTo("metadata");
                            assertThat(database.getCompaction().getRunning()).isFalse();
                            assertThat(database.getCompaction().getTotalBytes()).isPositive();
                            assertThat(database.getCompaction().getError()).isEmpty();
                            assertThat(database.getLevelsList())
                                    .extracting(LevelStatus::getLevel)
                                    .containsExactly(1);
                        });
            }
        }
    }

    @Test
    void dataServersRegisterGetPlacementGroupsAndOpenNewEpochsWhenRestarted() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer one = new FakeDataServer(group);
                FakeDataServer two = new FakeDataServer(group);
                FakeDataServer three = new FakeDataServer(group)) {
            two.upgrade();
            one.register();
            assertThat(group.status().getMap().getPgsList()).isEmpty();
            assertThat(group.status().getWarningsList())
                    .anyMatch(w -> w.contains("no PG table yet"));
            two.register();
            three.register();
            await().atMost(PATIENCE).until(() -> group.status().getMap().getPgsCount() == 16);
            StatusReply before = group.status();
            assertThat(before.getMap().getPgsList())
                    .allSatisfy(pg ->
                            assertThat(pg.getReplicasList()).hasSize(3).doesNotHaveDuplicates());

            // The same process again changes nothing, a new one opens new epochs.
            RegisterServerReply same = two.register();
            assertThat(same.getMap().getEpoch()).isEqualTo(before.getMap().getEpoch());
            RegisterServerReply after = two.restart();
            assertThat(after.getServer()).isEqualTo(same.getServer());
            assertThat(after.getDisksList()).isEqualTo(same.getDisksList());
            assertThat(after.getMap().getPgsList())
                    .allSatisfy(
                            pg -> assertThat(pg.getEpoch()).isEqualTo(after.getMap().getEpoch()));

            assertThat(two.heartbeat(after.getMap().getEpoch()).getRegisterAgain()).isFalse();
            assertThat(group.status().getSpace().getCapacityBytes()).isEqualTo(1 << 30);

            // Known again after a restart of the MDS.
            group.stop(1);
            group.start(1);
            assertThat(two.heartbeat(after.getMap().getEpoch()).getRegisterAgain()).isFalse();
            assertThat(group.status().getMap().getPgsCount()).isEqualTo(16);
        }
    }

    @Test
    void aDiskThatIsOutIsNamedWithCauseAndNextStepAndHasNoFreeSpace() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer one = new FakeDataServer(group);
                FakeDataServer two = new FakeDataServer(group);
                FakeDataServer three = new FakeDataServer(group)) {
            one.register();
            two.register();
            three.register();
            await().atMost(PATIENCE).until(() -> group.status().getMap().getPgsCount() == 16);
            long epoch = group.status().getMap().getEpoch();
            one.heartbeat(
                    epoch,
                    DiskStatus.newBuilder()
                            .setDisk(one.disk)
                            .setData("/disks/a")
                            .setCapacityBytes(1 << 30)
                            .setUsedBytes(1 << 28)
                            .setFreeBytes(1 << 29)
                            .addNotes("all is well")
                            .addWarnings("look at it")
                            .build());
            String named = name(one) + ": disk " + one.disk + " (/disks/a): ";
            assertThat(group.status().getWarningsList()).containsExactly(named + "look at it");
            assertThat(group.status().getNotesList()).containsExactly(named + "all is well");
            assertThat(group.status().getSpace().getFreeBytes()).isEqualTo(1 << 29);
            assertThat(group.status().getSpace().getCapacityBytes())
                    .as("its file system has no room for more of it")
                    .isEqualTo(3 << 28);

            DiskStatus out =
                    DiskStatus.newBuilder()
                            .setDisk(one.disk)
                            .setData("/disks/a")
                            .setCondition(DiskCondition.DISK_OUT)
                            .setCause("Input/output error")
                            .setNextStep("look at it")
                            .build();
            one.heartbeat(epoch, out);
            assertThat(group.status().getWarningsList())
                    .contains(
                            "%s: disk %d (/disks/a) is out of service: Input/output error; look at it"
                                    .formatted(name(one), one.disk));
            assertThat(group.status().getSpace().getFreeBytes()).isZero();
            assertThat(group.status().getSpace().getCapacityBytes()).isEqualTo(1 << 30);

            one.heartbeat(epoch, out.toBuilder().setDisk(0).build());
            assertThat(group.status().getWarningsList())
                    .anyMatch(w -> w.contains("a disk whose id is not known (/disks/a)"))
                    .anyMatch(w -> w.contains("does not serve disk " + one.disk));
        }
    }

    private static String name(FakeDataServer server) {
        return "data server %d (%s)"
                .formatted(server.id, RpcAddress.format(server.rpc.localAddress()));
    }

    @Test
    void anEvictedSessionIsReleasedOnlyWhenEveryDataServerRefusesIt() throws Exception {
        String settings = QUICK + "[sessions]\nrenew_interval = \"50ms\"\nexpiry = \"500ms\"\n";
        try (TestGroup group = new TestGroup(directory, 1, settings);
                FakeDataServer one = new FakeDataServer(group);
                FakeDataServer two = new FakeDataServer(group);
                FakeDataServer three = new FakeDataServer(group)) {
            one.register();
            two.register();
            three.register();
            List<Long> pushed = group.recordMaps();
            TestSession session = new TestSession(group);
            long inode =
                    TestSession.inode(session.mutate(TestSession.create("f", true))).getInode();
            session.mutate(TestSession.unlink("f"));
            assertThat(session.getAttr(inode).status().ok()).isTrue();

            await().atMost(PATIENCE)
                    .until(() ->
                            group.status()
                                    .getMap()
                                    .getRefusedSessionsList()
                                    .contains(session.id()));
            long epoch = group.status().getMap().getEpoch();
            assertThat(session.renew().status().advice()).isEqualTo(Advice.FENCED);
            assertThat(
                            session.mutate(session.batch(session.next, TestSession.mkdir("d")))
                                    .status()
                                    .advice())
                    .isEqualTo(Advice.FENCED);

            one.heartbeat(epoch);
            two.heartbeat(epoch);
            three.heartbeat(epoch - 1);
            // Two of three: the third may still be writing for it.
            assertThat(group.status().getSessionsCount()).isEqualTo(1);
            assertThat(session.getAttr(inode).status().ok()).isTrue();
            three.heartbeat(epoch);
            await().atMost(PATIENCE).until(() -> group.status().getSessionsCount() == 0);
            await().atMost(PATIENCE)
                    .until(() -> session.getAttr(inode).status().errno() == Errno.ENOENT);

            // One more term of the session, and the map forgets it. Its client, whose connection is
            // as good as ever, was sent no map but those that the floor refuses.
            await().atMost(PATIENCE)
                    .until(() -> group.status().getMap().getRefusedSessionsCount() == 0);
            assertThat(group.status().getMap().getSessionFloor()).isEqualTo(epoch + 1);
            one.restart();
            assertThat(group.status().getMap().getEpoch()).isGreaterThan(epoch + 1);
            assertThat(session.renew(0).status().advice()).isEqualTo(Advice.FENCED);
            assertThat(pushed).allMatch(e -> e <= epoch);

            // One that is served gets the newest.
            TestSession other = new TestSession(group);
            two.restart();
            await().atMost(PATIENCE)
                    .until(() -> {
                        other.renew(0);
                        return pushed.contains(group.status().getMap().getEpoch());
                    });
        }
    }

    @Test
    void aClientHasItsOwnSessionEvictedNotClosed() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer server = new FakeDataServer(group)) {
            server.register();
            TestSession session = new TestSession(group);
            session.mutate(TestSession.create("f", true));
            CloseSessionRequest evict =
                    CloseSessionRequest.newBuilder()
                            .setSession(session.id())
                            .setEvict(true)
                            .build();
            var ended = group.call(Method.CLOSE_SESSION, evict, CloseSessionReply.parser());
            assertThat(ended.status().ok()).isTrue();
            MapUpdate map = group.status().getMap();
            assertThat(map.getRefusedSessionsList()).containsExactly(session.id());
            assertThat(session.renew().status().advice()).isEqualTo(Advice.FENCED);
            assertThat(group.status().getSessionsCount())
                    .as("its writes may still arrive at the data server")
                    .isEqualTo(1);
            server.heartbeat(map.getEpoch());
            await().atMost(PATIENCE).until(() -> group.status().getSessionsCount() == 0);
            var again = group.call(Method.CLOSE_SESSION, evict, CloseSessionReply.parser());
            assertThat(again.status().advice()).isEqualTo(Advice.FENCED);
        }
    }

    @Test
    void aSilentDataServerIsMarkedDownAndHoldsUpNoEviction() throws Exception {
        String settings =
                QUICK.replace("30s", "400ms")
                        + "[sessions]\nrenew_interval = \"50ms\"\nexpiry = \"300ms\"\n";
        try (TestGroup group = new TestGroup(directory, 1, settings);
                FakeDataServer one = new FakeDataServer(group)) {
            one.register();
            new TestSession(group);
            await().atMost(PATIENCE)
                    .until(() ->
                            group.status().getMap().getServersList().stream()
                                    .noneMatch(Server::getUp));
            await().atMost(PATIENCE).until(() -> group.status().getSessionsCount() == 0);
            assertThat(one.heartbeat(1).getRegisterAgain()).isTrue();
            one.register();
            assertThat(group.status().getMap().getServers(0).getUp()).isTrue();
        }
    }

    @Test
    void theReaperGoesOnWhereItWasKilled() throws Exception {
        int files = Integer.getInteger("cairn.test.files", 20_000);
        try (TestGroup group =
                        new TestGroup(
                                directory,
                                1,
                                QUICK + "[background]\nreaper_inodes_per_second = 8000\n");
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(16);
            servers.forEach(s -> s.broken = true);
            TestSession session = new TestSession(group);
            makeAndUnlink(session, files);
            await().atMost(PATIENCE)
                    .until(() -> group.status().getDeletionBacklogInodes() == files);

            servers.forEach(s -> s.broken = false);
            await().atMost(PATIENCE)
                    .until(() -> group.status().getDeletionBacklogInodes() < files - 1000);
            group.stop(1);
            int before = servers.stream().mapToInt(s -> s.deleted.size()).sum();
            assertThat(before).isBetween(1, files - 1);
            group.start(1);
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> group.status().getDeletionBacklogInodes() == 0);
            // Every one of them has reached a primary, however often.
            assertThat(
                            servers.stream()
                                    .flatMap(s -> s.deleted.keySet().stream())
                                    .distinct()
                                    .count())
                    .isEqualTo(files);
        }
    }

    @Test
    void aShrinkReachesEveryPlacementGroupItCutsAndIsForgotten() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(16);
            TestSession session = new TestSession(group);
            long inode =
                    TestSession.inode(session.mutate(TestSession.create("f", true))).getInode();
            long size = 10L << 20;
            TestSession.inode(session.mutate(TestSession.raiseCeiling(inode, size)));
            TestSession.inode(session.mutate(TestSession.grow(inode, size)));
            TestSession.inode(session.mutate(TestSession.truncate(inode, 5 << 20)));
            await().atMost(PATIENCE)
                    .until(() ->
                            session.getAttr(inode).get().getAttr().getPendingTruncationsCount()
                                    == 0);
            // Chunks 1 and 2 of 4 MiB; chunk 0 lies before the cut.
            assertThat(servers.stream().flatMap(s -> s.truncations.stream()))
                    .isNotEmpty()
                    .hasSizeLessThanOrEqualTo(2)
                    .allSatisfy(t -> {
                        assertThat(t.getInode()).isEqualTo(inode);
                        assertThat(t.getSize()).isEqualTo(5 << 20);
                        assertThat(t.getSequence()).isEqualTo(1);
                    });
        }
    }

    @Test
    void moreShrinksThanAreKeptInMindAreAllCarriedOutInOrder() throws Exception {
        int files = Truncator.MAX_HEARD + 500;
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(16);
            servers.forEach(server -> server.broken = true);
            TestSession session = new TestSession(group);
            List<Long> inodes =
                    mutateAll(session, files, i -> TestSession.create("f" + i, false)).stream()
                            .map(r -> TestSession.inode(r).getInode())
                            .toList();
            mutateAll(session, files, i -> TestSession.grow(inodes.get(i), 1000));
            mutateAll(session, files, i -> TestSession.truncate(inodes.get(i), 500));
            mutateAll(session, files, i -> TestSession.truncate(inodes.get(i), 10));

            servers.forEach(server -> server.broken = false);
            await().atMost(PATIENCE)
                    .until(() ->
                            servers.stream().mapToInt(s -> s.truncations.size()).sum()
                                    == 2 * files);
            for (FakeDataServer server : servers) {
                Map<Long, Long> sequences = new HashMap<>();
                for (TruncateInodeRequest t : server.truncations) {
                    long before =
                            Objects.requireNonNullElse(
                                    sequences.put(t.getInode(), t.getSequence()), 0L);
                    assertThat(t.getSequence()).isEqualTo(before + 1);
                }
            }
        }
    }

    @Test
    void whatADeadSessionWroteBeyondTheSizeIsCutFromTheChunks() throws Exception {
        String settings = QUICK + "[sessions]\nrenew_interval = \"50ms\"\nexpiry = \"300ms\"\n";
        try (TestGroup group = new TestGroup(directory, 1, settings);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            List<FakeDataServer> servers = three.registered(16);
            TestSession session = new TestSession(group);
            long inode =
                    TestSession.inode(session.mutate(TestSession.create("f", true))).getInode();
            await().atMost(PATIENCE)
                    .until(() -> group.status().getMap().getRefusedSessionsCount() == 1);
            assertThat(servers).allMatch(s -> s.truncations.isEmpty());
            long epoch = group.status().getMap().getEpoch();
            servers.forEach(s -> s.heartbeat(epoch));
            await().atMost(PATIENCE)
                    .until(() -> {
                        Attr file = session.getAttr(inode).get().getAttr();
                        return file.getTruncateSequence() == 1
                                && file.getPendingTruncationsCount() == 0;
                    });
            assertThat(servers.stream().flatMap(s -> s.truncations.stream()))
                    .hasSize(1)
                    .allSatisfy(t -> {
                        assertThat(t.getInode()).isEqualTo(inode);
                        assertThat(t.getSize()).isZero();
                        assertThat(t.getSequence()).isEqualTo(1);
                    });
        }
    }

    /** In batches: a thousand files per entry. */
    private static void makeAndUnlink(TestSession session, int files) {
        mutateAll(
                session,
                2 * files,
                i ->
                        i % 2 == 0
                                ? TestSession.create("f" + i / 2, false)
                                : TestSession.unlink("f" + i / 2));
    }

    /** Sends a thousand at a time. */
    private static List<MutationResult> mutateAll(
            TestSession session, int number, IntFunction<Mutation> mutations) {
        List<MutationResult> results = new ArrayList<>();
        for (int from = 0; from < number; from += 1000) {
            Mutation[] batch =
                    IntStream.range(from, Math.min(number, from + 1000))
                            .mapToObj(mutations)
                            .toArray(Mutation[]::new);
            results.addAll(
                    session.mutate(
                                    session.batch(session.next, batch).toBuilder()
                                            .setAckedBelow(session.next)
                                            .build())
                            .get()
                            .getResultsList());
            session.next += batch.length;
        }
        return results;
    }

    @Test
    void aSecondServerOnTheDirectoryAndABusyAddressAreRefusedInOneLine() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            group.awaitServing();
            assertThatThrownBy(() -> group.start(1))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("in use");
            assertThat(group.fatal).hasNullValue();
        }
    }
}
