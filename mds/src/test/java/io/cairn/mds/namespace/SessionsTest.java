package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions, exactly-once execution, and what they do to the cluster map. */
class SessionsTest {
    @TempDir Path directory;
    private StateRig rig;
    private long session;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        session = rig.openSession(1);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private ApplyReply send(long first, long ackedBelow, Mutation.Builder... mutations) {
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(first)
                        .setAckedBelow(ackedBelow);
        for (Mutation.Builder m : mutations) {
            request.addMutations(m);
        }
        return rig.apply(rig.entry().setMutate(request));
    }

    private SessionRecord record() {
        return Objects.requireNonNull(rig.state.session(session));
    }

    private ApplyReply evict(long id) {
        return rig.apply(
                rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(id)));
    }

    private ApplyReply release(long id) {
        return rig.apply(
                rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(id)));
    }

    private ApplyReply closeSession(long id) {
        return rig.apply(
                rig.entry().setCloseSession(CloseSessionEntry.newBuilder().setSession(id)));
    }

    private static Errno errno(ApplyReply reply) {
        return Errno.of(reply.getErrno());
    }

    @Test
    void openingIsIdempotentByTheClientsUuid() {
        assertThat(rig.openSession(1)).isEqualTo(session);
        assertThat(rig.openSession(2)).isNotEqualTo(session);
        ApplyReply reused =
                rig.apply(
                        rig.entry()
                                .setOpenSession(
                                        StateRig.openEntry(3).toBuilder().setSession(session)));
        assertThat(errno(reused)).isEqualTo(Errno.EAGAIN);
        assertThat(rig.state.maxSession()).isEqualTo(2);
    }

    @Test
    void whatWasExecutedIsAnsweredAgainAndTheRestExecuted() {
        ApplyReply first = send(1, 1, Ops.mkdir(ROOT_INODE, "a"), Ops.mkdir(ROOT_INODE, "b"));
        ApplyReply again =
                send(
                        1,
                        1,
                        Ops.mkdir(ROOT_INODE, "a"),
                        Ops.mkdir(ROOT_INODE, "b"),
                        Ops.mkdir(ROOT_INODE, "c"));
        assertThat(again.getResultsList().subList(0, 2)).isEqualTo(first.getResultsList());
        assertThat(again.getResults(2).getErrno()).isZero();
        ApplyReply middle = send(2, 1, Ops.mkdir(ROOT_INODE, "b"), Ops.mkdir(ROOT_INODE, "c"));
        assertThat(middle.getResultsList()).isEqualTo(again.getResultsList().subList(1, 3));
        assertThat(record().getLastNumber()).isEqualTo(3);
        assertThat(rig.state.getAttr(ROOT_INODE).getNlink()).isEqualTo(5);
    }

    @Test
    void failuresTakeTheirNumberAndAreAnsweredAgain() {
        ApplyReply first = send(1, 1, Ops.unlink(ROOT_INODE, "x"));
        assertThat(Errno.of(first.getResults(0).getErrno())).isEqualTo(Errno.ENOENT);
        send(2, 1, Ops.create(ROOT_INODE, "x"));
        assertThat(send(1, 1, Ops.unlink(ROOT_INODE, "x")).getResultsList())
                .isEqualTo(first.getResultsList());
        Mutation.Builder refused = Ops.create(ROOT_INODE, "y");
        refused.setRefusedErrno(Errno.ENOSPC.number());
        assertThat(Errno.of(send(3, 1, refused).getResults(0).getErrno())).isEqualTo(Errno.ENOSPC);
        assertThat(record().getLastNumber()).isEqualTo(3);
    }

    @Test
    void gapIsRefusedAndSaysWhatIsExpected() {
        send(1, 1, Ops.mkdir(ROOT_INODE, "a"));
        ApplyReply gap = send(3, 1, Ops.mkdir(ROOT_INODE, "c"));
        assertThat(errno(gap)).isEqualTo(Errno.EAGAIN);
        assertThat(gap.getExpectedNumber()).isEqualTo(2);
        assertThat(gap.getResultsCount()).isZero();
        assertThat(errno(send(0, 1, Ops.mkdir(ROOT_INODE, "c")))).isEqualTo(Errno.EINVAL);
        assertThat(errno(send(2, 1))).isEqualTo(Errno.EINVAL);
        assertThat(record().getLastNumber()).isEqualTo(1);
    }

    @Test
    void acknowledgedAnswersAreForgotten() {
        for (int i = 1; i <= 10; i++) {
            send(i, 1, Ops.mkdir(ROOT_INODE, "d" + i));
        }
        assertThat(record().getAckedBelow()).isEqualTo(1);
        send(11, 8, Ops.mkdir(ROOT_INODE, "d11"));
        assertThat(record().getAckedBelow()).isEqualTo(8);
        ApplyReply late = send(7, 1, Ops.mkdir(ROOT_INODE, "x"), Ops.mkdir(ROOT_INODE, "d8"));
        assertThat(Errno.of(late.getResults(0).getErrno())).isEqualTo(Errno.EINVAL);
        assertThat(late.getResults(1).getErrno()).isZero();
        send(12, 100, Ops.mkdir(ROOT_INODE, "d12"));
        assertThat(record().getAckedBelow()).as("never beyond what was executed").isEqualTo(12);
    }

    @Test
    void answersNotAcknowledgedAreBounded() {
        Mutation.Builder[] batch = new Mutation.Builder[MutationBatch.MAX_ANSWERS];
        for (int i = 0; i < batch.length; i++) {
            batch[i] = Ops.unlink(ROOT_INODE, "none");
        }
        assertThat(errno(send(1, 1, batch))).isEqualTo(Errno.OK);
        long next = batch.length + 1L;
        assertThat(errno(send(next, 1, Ops.mkdir(ROOT_INODE, "d")))).isEqualTo(Errno.EBUSY);
        assertThat(errno(send(next, 2, Ops.mkdir(ROOT_INODE, "d")))).isEqualTo(Errno.OK);
        assertThat(errno(send(1, 1, batch))).as("still answered").isEqualTo(Errno.OK);
    }

    @Test
    void usedInodeIdsRefuseTheBatchAndNoNumberIsLost() {
        Mutation.Builder create = Ops.create(ROOT_INODE, "f");
        create.getCreateBuilder().setInode(100);
        assertThat(send(1, 1, create).getResults(0).getAttr().getInode()).isEqualTo(100);
        Mutation.Builder late = Ops.mkdir(ROOT_INODE, "d");
        late.getMkdirBuilder().setInode(50);
        assertThat(errno(send(2, 1, Ops.create(ROOT_INODE, "g"), late))).isEqualTo(Errno.EEXIST);
        assertThat(record().getLastNumber()).isEqualTo(1);
        late.getMkdirBuilder().setInode(101);
        assertThat(errno(send(2, 1, late))).isEqualTo(Errno.OK);
        assertThat(rig.state.maxInode()).isEqualTo(101);
        late.getMkdirBuilder().setInode(1L << MutationBatch.SHARD_SHIFT);
        assertThat(errno(send(3, 1, late))).isEqualTo(Errno.EINVAL);
    }

    @Test
    void idsOfFreedInodesAreNotUsedAgain() {
        long f = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        rig.mutate(session, Ops.rmdir(ROOT_INODE, "d"));
        assertThat(rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode())
                .isGreaterThan(f);
    }

    @Test
    void evictedSessionIsRefusedAndKeepsItsOrphansUntilItIsReleased() throws IOException {
        List<String> heard = new ArrayList<>();
        rig.state.addListener(
                new StateListener() {
                    @Override
                    public void mapChanged(MapUpdate increment) {
                        heard.add("map " + increment.getEpoch());
                    }

                    @Override
                    public void sessionRefused(long id, long epoch) {
                        heard.add("refused " + id + " at " + epoch);
                    }

                    @Override
                    public void sessionEnded(long id) {
                        heard.add("ended " + id);
                    }

                    @Override
                    public void deletionsQueued() {
                        heard.add("deletions");
                    }
                });
        long file = rig.mutate(session, Ops.createOpen(ROOT_INODE, "f")).getAttr().getInode();
        rig.mutate(session, Ops.unlink(ROOT_INODE, "f"));
        assertThat(errno(release(session))).as("not evicted").isEqualTo(Errno.EINVAL);
        ApplyReply evicted = evict(session);
        assertThat(evicted.getMapEpoch()).isEqualTo(2);
        assertThat(rig.state.map().refusedSessions()).containsExactly(session);
        assertThat(evict(session).getMapEpoch()).as("again").isEqualTo(2);
        assertThat(errno(send(rig.nextNumber(session), 1, Ops.mkdir(ROOT_INODE, "d"))))
                .isEqualTo(Errno.ESTALE);
        assertThat(errno(closeSession(session))).isEqualTo(Errno.ESTALE);
        assertThat(rig.state.orphans(0, 9)).containsExactly(file);
        assertThat(rig.openSession(1)).as("comes back as another").isNotEqualTo(session);
        assertThat(errno(release(session))).isEqualTo(Errno.OK);
        assertThat(rig.state.orphans(0, 9)).isEmpty();
        assertThat(rig.state.deletions(0, 9).getFirst().getMapEpoch()).isEqualTo(2);
        assertThat(rig.state.session(session)).isNull();
        assertThat(errno(release(session))).as("again").isEqualTo(Errno.OK);
        assertThat(errno(evict(session))).isEqualTo(Errno.ESTALE);
        assertThat(heard)
                .containsExactly(
                        "map 2", "refused " + session + " at 2", "deletions", "ended " + session);
        assertThat(errno(change(2, MapUpdate.newBuilder().setSessionFloor(1))))
                .as("the floor follows from what is forgotten")
                .isEqualTo(Errno.EINVAL);
        assertThat(errno(change(2, MapUpdate.newBuilder().addForgottenSessions(session))))
                .isEqualTo(Errno.OK);
        assertThat(rig.state.map().refusedSessions()).isEmpty();
        assertThat(rig.state.map().sessionFloor()).isEqualTo(3);
        assertThat(errno(change(3, MapUpdate.newBuilder().addForgottenSessions(session))))
                .as("again")
                .isEqualTo(Errno.EINVAL);
        rig.close();
        rig = new StateRig(directory);
        assertThat(rig.state.map().sessionFloor()).as("after a restart").isEqualTo(3);
        assertThat(rig.state.map().refusedSessions()).isEmpty();
    }

    @Test
    void oneEntryEvictsManySessionsInOneEpoch() {
        long other = rig.openSession(2);
        long closed = rig.openSession(3);
        rig.apply(rig.entry().setCloseSession(CloseSessionEntry.newBuilder().setSession(closed)));
        long refused = rig.openSession(4);
        assertThat(errno(evict(refused))).isEqualTo(Errno.OK);
        long epoch = rig.state.map().epoch();
        EvictSessionEntry.Builder many =
                EvictSessionEntry.newBuilder()
                        .addAllSessions(List.of(other, session, closed, refused, 99L, other));
        ApplyReply reply = rig.apply(rig.entry().setEvictSession(many));
        assertThat(errno(reply)).isEqualTo(Errno.OK);
        assertThat(reply.getMapEpoch()).isEqualTo(epoch + 1);
        assertThat(rig.state.map().refusedSessions()).containsExactly(session, other, refused);
        assertThat(record().getRefusedEpoch()).isEqualTo(epoch + 1);
        assertThat(rig.state.session(refused)).isNotNull();
        assertThat(Objects.requireNonNull(rig.state.session(refused)).getRefusedEpoch())
                .as("as before")
                .isEqualTo(epoch);
        assertThat(rig.openSession(2)).as("comes back as another").isNotEqualTo(other);
        rig.apply(rig.entry().setEvictSession(many));
        assertThat(rig.state.map().epoch()).as("nobody left to evict").isEqualTo(epoch + 1);
        assertThat(errno(release(other))).isEqualTo(Errno.OK);
    }

    @Test
    void closingGivesEverythingBack() {
        long file = rig.mutate(session, Ops.createOpen(ROOT_INODE, "f")).getAttr().getInode();
        rig.mutate(session, Ops.createOpen(ROOT_INODE, "g"));
        rig.mutate(session, Ops.unlink(ROOT_INODE, "f"));
        assertThat(record().getOpenFiles()).isEqualTo(2);
        assertThat(errno(closeSession(session))).isEqualTo(Errno.OK);
        assertThat(rig.state.deletions(0, 9).getFirst().getInode()).isEqualTo(file);
        assertThat(rig.state.sessions()).isEmpty();
        assertThat(errno(closeSession(session))).as("again").isEqualTo(Errno.OK);
        assertThat(rig.openSession(1)).isNotEqualTo(session);
        assertThat(errno(send(1, 1, Ops.mkdir(ROOT_INODE, "d")))).isEqualTo(Errno.ESTALE);
    }

    @Test
    void openingAndReleasingCountInOneBatch() {
        Mutation.Builder release = Ops.release(2);
        List<MutationResult> results =
                rig.mutate(
                        session,
                        List.of(
                                Ops.createOpen(ROOT_INODE, "f"),
                                Ops.open(2),
                                Ops.unlink(ROOT_INODE, "f"),
                                release,
                                release,
                                release));
        assertThat(results.stream().map(r -> Errno.of(r.getErrno())))
                .containsExactly(Errno.OK, Errno.OK, Errno.OK, Errno.OK, Errno.OK, Errno.EBADF);
        assertThat(record().getOpenFiles()).isZero();
        assertThat(rig.state.counters().deletionInodes()).isEqualTo(1);
    }

    // ---- the map ------------------------------------------------------------

    private ApplyReply change(long base, MapUpdate.Builder update) {
        return rig.apply(
                rig.entry()
                        .setMapChange(
                                MapChangeEntry.newBuilder()
                                        .setBaseEpoch(base)
                                        .setUpdate(update.setEpoch(base + 1))));
    }

    @Test
    void mapChangesBuildOnEachOther() {
        assertThat(errno(change(0, MapUpdate.newBuilder()))).isEqualTo(Errno.EAGAIN);
        assertThat(errno(change(2, MapUpdate.newBuilder()))).isEqualTo(Errno.EAGAIN);
        MapUpdate.Builder servers = MapUpdate.newBuilder();
        for (int i = 1; i <= 3; i++) {
            servers.addServers(Server.newBuilder().setId(i).setAddress("h" + i + ":1"));
            servers.addDisks(Disk.newBuilder().setId(i).setServer(i).setCapacityBytes(1));
        }
        assertThat(errno(change(1, servers))).isEqualTo(Errno.OK);
        PlacementGroup.Builder pg =
                PlacementGroup.newBuilder()
                        .setPg(1 << 16 | 5)
                        .setEpoch(3)
                        .addAllReplicas(List.of(1, 2, 3))
                        .addAllInSync(List.of(1, 2, 3));
        assertThat(errno(change(2, MapUpdate.newBuilder().addPgs(pg)))).isEqualTo(Errno.OK);
        pg.clearInSync().setEpoch(4);
        assertThat(errno(change(3, MapUpdate.newBuilder().addPgs(pg)))).isEqualTo(Errno.EINVAL);
        pg.addInSync(1).clearReplicas().addAllReplicas(List.of(1, 2, 2));
        assertThat(errno(change(3, MapUpdate.newBuilder().addPgs(pg)))).isEqualTo(Errno.EINVAL);
        MapUpdate.Builder orphan =
                MapUpdate.newBuilder().addDisks(Disk.newBuilder().setId(9).setServer(9));
        assertThat(errno(change(3, orphan))).isEqualTo(Errno.EINVAL);
        assertThat(errno(change(3, MapUpdate.newBuilder().addForgottenSessions(session))))
                .isEqualTo(Errno.EINVAL);
        MapUpdate map = rig.state.map().toUpdate();
        assertThat(map.getEpoch()).isEqualTo(3);
        assertThat(map.getServersCount()).isEqualTo(3);
        assertThat(map.getPgs(0).getReplicasList()).containsExactly(1, 2, 3);
        assertThat(ClusterMap.of(map).toUpdate()).isEqualTo(map);
    }

    @Test
    void formattingHappensOnce() {
        assertThat(errno(rig.apply(rig.entry().setFormat(StateRig.format()))))
                .isEqualTo(Errno.EEXIST);
        assertThat(rig.state.clusterId()).isEqualTo(StateRig.CLUSTER);
    }

    @Test
    void nothingHappensBeforeFormatting() throws IOException {
        try (StateRig blank = new StateRig(directory.resolve("blank"))) {
            ApplyReply reply = blank.apply(blank.entry().setOpenSession(StateRig.openEntry(1)));
            assertThat(errno(reply)).isEqualTo(Errno.EAGAIN);
            assertThat(blank.state.isFormatted()).isFalse();
            assertThat(blank.state.appliedIndex()).isEqualTo(1);
        }
    }
}
