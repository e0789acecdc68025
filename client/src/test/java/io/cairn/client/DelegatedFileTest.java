package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.base.ClientMeter;
import io.cairn.client.fake.FakeMds;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.seed.TestSeed;
import io.cairn.common.time.WallClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Files that are delegated to the client that made them. */
class DelegatedFileTest extends DelegatingFixture {
    /** Nothing is published because time has passed. */
    private static final String NEVER = "publish_interval = \"1min\"";

    private static final int ROUNDS = 30;

    private final Meters meters = Meters.unpublished();

    private CairnClient delegating() {
        return delegating(meters, NEVER);
    }

    private OpenFile delegated(CairnClient client, String name) {
        OpenFile file = create(client, name);
        assertThat(delegations.isHeld(file.inode())).isTrue();
        return file;
    }

    private static CompletableFuture<Attr> change(
            CairnClient client, OpenFile file, SetAttrOp.Builder change) {
        return client.setAttr(change.setInode(file.inode()).build(), WHO);
    }

    private static CompletableFuture<Attr> chmod(CairnClient client, OpenFile file, int mode) {
        return change(client, file, SetAttrOp.newBuilder().setMode(mode));
    }

    private int mode(OpenFile file) {
        return Mode.permissions(cluster.names().attr(file.inode()).getMode());
    }

    private FakeMds hold(Method method) {
        return fault(0, method, Fault.HOLD);
    }

    private FakeMds fault(int member, Method method, Fault fault) {
        FakeMds mds = cluster.mds(member);
        mds.faults(m -> m == method ? fault : Fault.NONE);
        return mds;
    }

    private static void letGo(FakeMds mds) {
        mds.faults(m -> Fault.NONE);
        mds.letGo();
    }

    private List<ReturnDelegationsRequest> returnsOf(long inode) {
        return delegations.returned().stream()
                .filter(r -> r.getInodesList().contains(inode))
                .toList();
    }

    /** What others are shown when files are theirs to see. */
    private List<Attr> shown() {
        List<Attr> shown = new CopyOnWriteArrayList<>();
        delegations.onReturn(inode -> shown.add(cluster.names().attr(inode)));
        return shown;
    }

    // ---- what does not wait

    @Test
    void attributesAndFlushesAreAnsweredBeforeTheMdsHasThem() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        get(write(file, 0, "abc"));
        FakeMds mds = hold(Method.MUTATE);
        assertThat(get(chmod(client, file, 0600)).getMode()).isEqualTo(0100600);
        Attr changed = get(change(client, file, SetAttrOp.newBuilder().setUid(7).setGid(8)));
        assertThat(changed.getUid()).isEqualTo(7);
        get(file.flush());
        Attr seen = get(client.getAttr(file.inode()));
        assertThat(seen.getMode()).isEqualTo(0100600);
        assertThat(seen.getGid()).isEqualTo(8);
        assertThat(seen.getSize()).isEqualTo(3);
        assertThat(mode(file)).isEqualTo(0644);
        OpenFile second = get(client.openForReading(file.inode()));
        CompletableFuture<Void> synced = second.fsync();
        await().until(() -> mds.held() > 0);
        assertThat(synced.isDone()).isFalse();
        letGo(mds);
        get(synced);
        assertThat(mode(file)).isEqualTo(0600);
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
        get(second.release());
        get(file.release());
        await().until(() -> !delegations.isHeld(file.inode()));
    }

    @Test
    void withSyncMetadataAllIsToldFirst() {
        CairnClient client = connect("sync_metadata = true");
        OpenFile file = create(client, "f");
        FakeMds mds = hold(Method.MUTATE);
        CompletableFuture<Attr> changed = chmod(client, file, 0600);
        await().until(() -> mds.held() == 1);
        assertThat(changed.isDone()).isFalse();
        letGo(mds);
        get(changed);
    }

    // ---- recalls

    @Test
    void aRecalledFileIsReturnedWhenAllOfItIsTold() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        List<Attr> shown = shown();
        get(write(file, 0, "abc"));
        FakeMds mds = hold(Method.MUTATE);
        get(chmod(client, file, 0600));
        mds.recallDelegations(cluster.names().onlySession(), file.inode());
        await().until(() -> mds.held() > 0);
        get(client.lookup(1, bytes("f")));
        assertThat(returnsOf(file.inode())).isEmpty();
        CompletableFuture<Attr> second = chmod(client, file, 0640);
        assertThat(second.isDone()).isFalse();
        letGo(mds);
        await().until(() -> !shown.isEmpty());
        assertThat(Mode.permissions(shown.getFirst().getMode())).isIn(0600, 0640);
        assertThat(shown.getFirst().getSize()).isEqualTo(3);
        get(second);
        assertThat(mode(file)).isEqualTo(0640);
        assertThat(get(client.getAttr(file.inode())).getMode()).isEqualTo(0100640);
    }

    @Test
    void aRecallMayComeBeforeTheAnswerThatDelegates() {
        CairnClient client = delegating();
        long inode = create(client, "before").inode() + 1;
        FakeMds mds = fault(0, Method.MUTATE, Fault.LATE);
        CompletableFuture<OpenFile> creation =
                client.create(client.rootInode(), bytes("f"), REGULAR, true, WHO);
        await().until(() -> delegations.isHeld(inode));
        mds.recallDelegations(cluster.names().onlySession(), inode);
        await().until(() -> !delegations.isHeld(inode));
        letGo(mds);
        OpenFile file = get(creation);
        assertThat(file.inode()).isEqualTo(inode);
        hold(Method.MUTATE);
        CompletableFuture<Attr> changed = chmod(client, file, 0600);
        await().until(() -> mds.held() == 1);
        assertThat(changed.isDone()).isFalse();
        letGo(mds);
        get(changed);
        // Those that are made later are not concerned.
        delegated(client, "g");
        assertThat(get(chmod(client, delegated(client, "h"), 0600)).getMode()).isEqualTo(0100600);
    }

    @Test
    void aRecallOfWhatIsNotOpenIsAnswered() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        get(file.release());
        FakeMds mds = cluster.mds(0);
        mds.recallDelegations(cluster.names().onlySession(), file.inode(), 12345L);
        await().until(() -> !returnsOf(12345).isEmpty());
    }

    // ---- another leader

    @Test
    void aNewLeaderIsToldAllBeforeItMayShowIt() {
        CairnClient client = delegating();
        OpenFile open = delegated(client, "open");
        OpenFile closed = delegated(client, "closed");
        OpenFile grown = delegated(client, "grown");
        List<Attr> shown = shown();
        hold(Method.MUTATE);
        get(chmod(client, open, 0600));
        get(write(closed, 0, "abc"));
        get(chmod(client, closed, 0600));
        get(closed.flush());
        closed.release();
        get(write(grown, 0, "abc"));
        get(grown.flush());
        grown.release();
        FakeMds next = fault(1, Method.MUTATE, Fault.HOLD);
        cluster.leader(next);
        await().until(() -> next.held() > 0);
        get(client.lookup(1, bytes("open"))); // behind what was sent at once
        assertThat(shown).isEmpty();
        letGo(next);
        long session = cluster.names().onlySession();
        await().until(() -> delegations.hasTold(session));
        assertThat(shown).hasSize(3);
        for (Attr attr : shown) {
            boolean changed = attr.getInode() != grown.inode();
            assertThat(Mode.permissions(attr.getMode())).isEqualTo(changed ? 0600 : 0644);
            assertThat(attr.getSize()).isEqualTo(attr.getInode() == open.inode() ? 0 : 3);
        }
        assertThat(get(client.getAttr(open.inode())).getMode()).isEqualTo(0100600);
        delegated(client, "again");
        cluster.mds(0).letGo();
    }

    @Test
    void itIsToldTheSizeThatTravelsWithACloseAsWell() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        List<Attr> shown = shown();
        hold(Method.MUTATE);
        get(write(file, 0, "abc"));
        get(file.flush());
        file.release();
        FakeMds next = fault(1, Method.MUTATE, Fault.HOLD);
        long session = cluster.names().onlySession();
        cluster.leader(next);
        await().until(() -> next.held() > 0);
        await().during(Duration.ofMillis(300)).until(() -> !delegations.hasTold(session));
        letGo(next);
        await().until(() -> delegations.hasTold(session));
        assertThat(shown).hasSize(1);
        assertThat(shown.getFirst().getSize()).isEqualTo(3);
        cluster.mds(0).letGo();
    }

    @Test
    void oneThatLeadsAnewIsToldThoughTheConnectionStands() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        long session = cluster.names().onlySession();
        cluster.leader(cluster.mds(0));
        assertThat(delegations.hasTold(session)).isFalse();
        await().until(() -> delegations.hasTold(session));
        assertThat(delegations.isHeld(file.inode())).isFalse();
        delegated(client, "g");
    }

    @Test
    void whatIsUntoldWhenTheSessionIsEvictedIsReportedAsLost() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        OpenFile clean = delegated(client, "clean");
        FakeMds mds = hold(Method.MUTATE);
        get(chmod(client, file, 0600));
        long session = cluster.names().onlySession();
        await().until(() -> mds.held() > 0);
        cluster.evict(session);
        letGo(mds);
        assertThat(errno(file.fsync())).isEqualTo(Errno.EIO);
        assertThat(errno(file.flush())).isEqualTo(Errno.EIO);
        assertThat(errno(write(file, 0, "x"))).isEqualTo(Errno.EIO);
        assertThat(mode(file)).isEqualTo(0644);
        assertThat(get(client.getAttr(file.inode())).getMode()).isEqualTo(0100644);
        get(clean.fsync());
        OpenFile again = get(client.open(file.inode()));
        get(chmod(client, again, 0640));
        get(again.fsync());
        assertThat(mode(file)).isEqualTo(0640);
        long next = cluster.names().onlySession();
        await().until(() -> delegations.hasTold(next));
        delegated(client, "new");
    }

    private double openInodes() {
        return meters.registry().get(ClientMeter.OPEN_INODES.meterName()).gauge().value();
    }

    /** A file that is written and closed, of whose size the MDS has not heard when it evicts. */
    private long lost(CairnClient client, String name) {
        OpenFile file = delegated(client, name);
        FakeMds mds = hold(Method.MUTATE);
        get(write(file, 0, "new"));
        get(file.flush());
        get(file.release());
        await().until(() -> mds.held() > 0);
        cluster.evict(cluster.names().onlySession());
        letGo(mds);
        await().until(() -> cluster.names().sessions() == 1);
        long next = cluster.names().onlySession();
        await().until(() -> delegations.hasTold(next) && openInodes() == 0);
        return file.inode();
    }

    @Test
    void aFileWhoseDataWasLostTakesNoOthersPlaceUntilThatWasTold() {
        CairnClient client = delegating();
        OpenFile old = delegated(client, "old");
        get(write(old, 0, "old"));
        get(old.fsync());
        get(old.release());
        long inode = lost(client, "new");
        assertThat(errno(client.rename(1, bytes("new"), 1, bytes("old"), 0))).isEqualTo(Errno.EIO);
        assertThat(cluster.names().attr(old.inode()).getNlink()).isEqualTo(1);
        get(client.rename(1, bytes("new"), 1, bytes("old"), 0));
        assertThat(get(client.lookup(1, bytes("old"))).getInode()).isEqualTo(inode);
    }

    @Test
    void norIsItGivenAnotherNameUntilThatWasTold() {
        CairnClient client = delegating();
        long inode = lost(client, "new");
        assertThat(errno(client.link(inode, 1, bytes("old")))).isEqualTo(Errno.EIO);
        get(client.link(inode, 1, bytes("old")));
    }

    @Test
    void whatHasItsNameSinceIsRenamed() {
        CairnClient client = delegating();
        lost(client, "own");
        get(client.unlink(1, bytes("own")));
        get(delegated(client, "own").release());
        get(client.rename(1, bytes("own"), 1, bytes("old"), 0));
        lost(client, "new");
        CairnClient other = connect();
        get(other.unlink(1, bytes("new")));
        get(create(other, "new").release());
        get(client.rename(1, bytes("new"), 1, bytes("old"), 0));
    }

    /** Others may be shown the file without what this client did. */
    @Test
    void whoMayHaveBeenEvictedWaitsAgain() {
        FakeMds mds = cluster.mds(0);
        mds.expiry(1_500);
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        mds.faults(m -> m == Method.RENEW_SESSION || m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        assertThat(chmod(client, file, 0600).isDone()).isTrue();
        List<CompletableFuture<Attr>> changes = new ArrayList<>();
        await().until(() -> {
            changes.add(chmod(client, file, 0640));
            return !changes.getLast().isDone();
        });
        letGo(mds);
        get(changes.getLast());
        assertThat(mode(file)).isEqualTo(0640);
    }

    // ---- the end

    @Test
    void aClientThatEndsTellsWhatWasClosedBefore() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        get(write(file, 0, "abc"));
        FakeMds mds = hold(Method.MUTATE);
        get(chmod(client, file, 0600));
        get(file.flush());
        file.release();
        await().until(() -> mds.held() > 0);
        CompletableFuture<Void> closed = CompletableFuture.runAsync(client::close);
        await().during(Duration.ofMillis(300)).until(() -> !closed.isDone());
        letGo(mds);
        get(closed);
        assertThat(mode(file)).isEqualTo(0600);
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
    }

    // ---- what the client itself sees

    @Test
    void aWriteTakesASetUserIdBitThatIsNotToldYet() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        FakeMds mds = hold(Method.MUTATE);
        get(chmod(client, file, 04755));
        CompletableFuture<Void> written = file.write(0, buffer("abc"), true);
        await().until(() -> mds.held() > 0);
        letGo(mds);
        get(written);
        assertThat(mode(file)).isEqualTo(0755);
        assertThat(get(client.getAttr(file.inode())).getMode()).isEqualTo(0100755);
    }

    @Test
    void anAnswerOfBeforeTheChangeIsNotBelievedAfterTheClose() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        FakeMds mds = cluster.mds(0);
        mds.faults(m ->
                m == Method.MUTATE ? Fault.HOLD : m == Method.LOOKUP ? Fault.LATE : Fault.NONE);
        get(chmod(client, file, 0600));
        file.release();
        CompletableFuture<LookupReply> found = client.find(1, bytes("f"));
        await().until(() -> mds.held() >= 2);
        mds.faults(m -> Fault.NONE);
        mds.serveHeld();
        await().until(() -> mode(file) == 0600 && cluster.names().opens(file.inode()) == 0);
        // Until nothing of it is known any more.
        get(create(client, "g").fsync());
        await().during(Duration.ofMillis(200)).until(() -> true);
        mds.letGo();
        assertThat(Mode.permissions(get(found).getAttr().getMode())).isEqualTo(0600);
    }

    @Test
    void answersInAnotherOrderDoNotBringAnOldModeBack() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        FakeMds mds = cluster.mds(0);
        AtomicBoolean first = new AtomicBoolean(true);
        mds.faults(m -> m == Method.MUTATE && first.getAndSet(false) ? Fault.LATE : Fault.NONE);
        get(chmod(client, file, 0600));
        await().until(() -> mode(file) == 0600);
        mds.recallDelegations(cluster.names().onlySession(), file.inode());
        await().until(() -> {
            CompletableFuture<Attr> changed = chmod(client, file, 0640);
            Attr attr = get(changed);
            assertThat(Mode.permissions(attr.getMode())).isEqualTo(0640);
            return mode(file) == 0640;
        });
        assertThat(Mode.permissions(get(client.lookup(1, bytes("f"))).getMode())).isEqualTo(0640);
        mds.letGo();
        await().until(() -> !delegations.isHeld(file.inode()));
        assertThat(Mode.permissions(get(client.getAttr(file.inode())).getMode())).isEqualTo(0640);
    }

    /** An own question may be answered before the changes that it is answered with. */
    @Test
    void whatIsCommittedAndNotAnsweredCountsOnce() {
        CairnClient client = delegating();
        OpenFile file = delegated(client, "f");
        FakeMds mds = fault(0, Method.MUTATE, Fault.LATE);
        get(chmod(client, file, 04755));
        get(
                change(
                        client,
                        file,
                        SetAttrOp.newBuilder().setMtime(WallClock.now()).setMtimeNow(true)));
        Attr told = get(chmod(client, file, 0640));
        await().until(() -> mode(file) == 0640);
        Attr committed = cluster.names().attr(file.inode());
        assertThat(shown(committed)).isEqualTo(shown(told));
        assertThat(shown(get(client.lookup(1, bytes("f"))))).isEqualTo(shown(committed));
        assertThat(shown(get(client.getAttr(file.inode())))).isEqualTo(shown(committed));
        letGo(mds);
        get(file.fsync());
        assertThat(shown(get(client.getAttr(file.inode())))).isEqualTo(shown(committed));
    }

    @Test
    void whatTheClientTellsItsProgramsIsWhatTheMdsCommits() {
        Random random = TestSeed.random("DelegatedFileTest");
        CairnClient client = delegating();
        for (int round = 0; round < ROUNDS; round++) {
            OpenFile file = create(client, "f" + round);
            for (int turn = 0; turn < 5; turn++) {
                FakeMds mds = cluster.mds(0);
                boolean held = random.nextBoolean();
                if (held) {
                    hold(Method.MUTATE);
                }
                for (int i = random.nextInt(8); i >= 0; i--) {
                    if (random.nextInt(4) == 0) {
                        get(write(file, random.nextInt(1000), "x"));
                    } else {
                        told(mds, change(client, file, randomChange(random)));
                    }
                }
                // With what was written before, which a sync need not publish.
                told(mds, chmod(client, file, random.nextInt(010000)));
                Attr told = get(client.getAttr(file.inode()));
                letGo(mds);
                get(file.fsync());
                assertThat(shown(cluster.names().attr(file.inode())))
                        .as("round %d, turn %d", round, turn)
                        .isEqualTo(shown(told));
                assertThat(shown(get(client.getAttr(file.inode())))).isEqualTo(shown(told));
            }
            get(file.release());
        }
        assertThat(delegations.given()).isPositive();
    }

    /** On a busy machine the leader may be looked for anew: then nothing is delegated any more. */
    private static void told(FakeMds mds, CompletableFuture<Attr> changed) {
        if (!changed.isDone()) {
            letGo(mds);
        }
        get(changed);
    }

    private static SetAttrOp.Builder randomChange(Random random) {
        SetAttrOp.Builder change = SetAttrOp.newBuilder();
        switch (random.nextInt(6)) {
            case 0 -> change.setMode(random.nextInt(010000));
            case 1 -> change.setUid(random.nextInt(3));
            case 2 -> change.setGid(random.nextInt(3)).setKillSuidSgid(random.nextBoolean());
            case 3 -> change.setAtime(time(random)).setMtime(time(random));
            case 4 -> change.setMtime(WallClock.now()).setMtimeNow(true);
            default -> change.setKillSuidSgid(true);
        }
        return change;
    }

    /** Long past, or still to come. */
    private static Timespec time(Random random) {
        return Timespec.newBuilder()
                .setSeconds(random.nextInt(4) == 0 ? 4_000_000_000L : random.nextInt(1_000_000))
                .setNanos(random.nextInt(1_000_000_000))
                .build();
    }

    private static Attr shown(Attr attr) {
        return Attr.newBuilder()
                .setInode(attr.getInode())
                .setMode(attr.getMode())
                .setUid(attr.getUid())
                .setGid(attr.getGid())
                .setSize(attr.getSize())
                .setNlink(attr.getNlink())
                .setAtime(attr.getAtime())
                .setMtime(attr.getMtime())
                .setCtime(attr.getCtime())
                .build();
    }
}
