package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The cluster evicts a client: it goes on in a new session, and says what is lost. */
class SessionLossTest extends ClientFixture {
    private static final String NEVER = "publish_interval = \"1min\"";

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(1, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    private static CompletableFuture<Attr> mkdir(CairnClient client, String name) {
        return client.mkdir(1, bytes(name), 0755, WHO);
    }

    /** Evicts the only client; returns its session's number. */
    private long evict() {
        long session = cluster.names().onlySession();
        cluster.evict(session);
        return session;
    }

    /** The same, and the client has noticed it. */
    private long evictAndNotice() {
        long session = evict();
        await().until(() -> cluster.names().sessions() == 1);
        return session;
    }

    private OpenFile written(CairnClient client, String name, String text) {
        OpenFile file = create(client, name);
        get(write(file, 0, text));
        get(file.flush());
        return file;
    }

    private void data(Fault fault) {
        cluster.data().forEach(d -> d.faults(op -> fault));
    }

    private int held() {
        return cluster.data().stream().mapToInt(d -> d.held()).sum();
    }

    private void letGo() {
        Random random = new Random(1);
        cluster.data().forEach(d -> d.letGo(random));
    }

    private void unlinkAsAnother(String name) {
        CairnClient other = connect();
        get(other.unlink(1, bytes(name)));
        other.close();
    }

    private static void isLost(OpenFile file) {
        assertThat(errno(write(file, 0, "new"))).isEqualTo(Errno.EIO);
        assertThat(errno(append(file, "new"))).isEqualTo(Errno.EIO);
        assertThat(errno(file.extend(100))).isEqualTo(Errno.EIO);
        assertThat(errno(file.fsync())).isEqualTo(Errno.EIO);
        assertThat(errno(file.flush())).isEqualTo(Errno.EIO);
    }

    // ---- what goes on

    @Test
    void whatHasNoUnsavedWritesGoesOn() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        long old = evict();
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        get(write(file, 3, "def"));
        get(file.fsync());
        get(file.flush());
        assertThat(get(client.lookup(1, bytes("f"))).getSize()).isEqualTo(6);
        get(mkdir(client, "d"));
        long session = cluster.names().onlySession();
        assertThat(session).isNotEqualTo(old);
        assertThat(cluster.names().opens(session, file.inode())).isEqualTo(1);
        get(file.release());
        await().until(() -> cluster.names().opens(file.inode()) == 0);
    }

    /** It says which map it has, and is sent what it lacks. */
    @Test
    void theMapGoesOn() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        evict();
        get(mkdir(client, "d"));
        get(write(file, 3, "def"));
        get(file.fsync());
        assertThat(cluster.mds(0).openedWith()).containsExactly(0L, 1L);
        assertThat(cluster.chunks().violations()).isEmpty();
    }

    @Test
    void evenWhereTheFirstThingIsAMutation() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        evict();
        get(mkdir(client, "d"));
        get(resize(client, file, 1));
        assertThat(read(file, 0, 10)).isEqualTo("a");
        assertThat(cluster.names().executed()).containsOnlyOnce("1 MKDIR");
    }

    @Test
    void aFileIsOpenedOnceHoweverManyHandlesItHas() {
        CairnClient client = connect();
        OpenFile first = written(client, "f", "abc");
        OpenFile second = get(client.open(first.inode()));
        evict();
        OpenFile third = get(client.open(first.inode()));
        for (OpenFile file : List.of(first, second, third)) {
            assertThat(read(file, 0, 10)).isEqualTo("abc");
        }
        assertThat(cluster.names().opens(first.inode())).isEqualTo(1);
        get(first.release());
        get(second.release());
        get(write(third, 0, "x"));
        get(third.release());
        await().until(() -> cluster.names().opens(first.inode()) == 0);
    }

    @Test
    void whatIsAskedWhileThereIsNoSessionWaitsForTheNext() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        cluster.mds(0).faults(m -> m == Method.OPEN_SESSION ? Fault.HOLD : Fault.NONE);
        evict();
        await().until(() -> cluster.mds(0).held() == 1);
        CompletableFuture<Attr> made = mkdir(client, "d");
        CompletableFuture<OpenFile> opened = client.open(file.inode());
        CompletableFuture<Void> over = write(file, 1, "XY");
        CompletableFuture<Attr> seen = client.getAttr(file.inode());
        assertThat(made).isNotDone();
        assertThat(over).isNotDone();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        get(made);
        get(over);
        get(seen);
        assertThat(read(get(opened), 0, 10)).isEqualTo("aXY");
    }

    @Test
    void aTimeOfModificationThatWasNotPublishedIsNotLost() {
        CairnClient client = connect(NEVER);
        OpenFile file = written(client, "f", "abc");
        Attr before = cluster.names().attr(file.inode());
        get(write(file, 0, "xyz"));
        evict();
        get(file.flush());
        Attr after = cluster.names().attr(file.inode());
        assertThat(after.getMtime()).isNotEqualTo(before.getMtime());
        assertThat(read(file, 0, 10)).isEqualTo("xyz");
    }

    /** What was written before is published in front of it, but in the session that has ended. */
    @Test
    void whatWasSetExplicitlyIsNotUndoneByWritesFromBefore() {
        CairnClient client = connect(NEVER);
        OpenFile file = written(client, "f", "abc");
        get(file.write(0, buffer("xyz"), true));
        evict();
        Timespec old = Timespec.newBuilder().setSeconds(1_000_000_000).build();
        SetAttrOp.Builder change = SetAttrOp.newBuilder().setInode(file.inode());
        get(client.setAttr(change.setMtime(old).setMode(06755).build(), WHO));
        get(file.flush());
        get(client.getAttr(file.inode()));
        Attr after = cluster.names().attr(file.inode());
        assertThat(after.getMtime()).isEqualTo(old);
        assertThat(after.getMode() & 07777).isEqualTo(06755);
        get(file.write(0, buffer("abc"), true));
        get(file.flush());
        Attr written = cluster.names().attr(file.inode());
        assertThat(written.getMtime()).isNotEqualTo(old);
        assertThat(written.getMode() & 07777).isEqualTo(0755);
    }

    @Test
    void aReadThatWasUnderWayIsRepeated() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        data(Fault.HOLD);
        CompletableFuture<ByteBuf> read = file.read(0, 3);
        await().until(() -> held() == 1);
        evict();
        data(Fault.NONE);
        letGo();
        assertThat(text(get(read))).isEqualTo("abc");
    }

    @Test
    void evictedAgainWhileItComesBack() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        AtomicInteger evictions = new AtomicInteger();
        cluster.mds(0)
                .faults(m -> {
                    if (m == Method.MUTATE && evictions.incrementAndGet() < 4) {
                        evict();
                    }
                    return Fault.NONE;
                });
        evictAndNotice();
        get(write(file, 1, "XY"));
        get(file.flush());
        assertThat(read(file, 0, 10)).isEqualTo("aXY");
        assertThat(cluster.names().opens(file.inode())).isEqualTo(1);
    }

    @Test
    void anOpenOfWhichNobodyKnowsIsRepeated() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        get(file.release());
        await().until(() -> cluster.names().opens(file.inode()) == 0);
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.CUT_AFTER : Fault.HOLD);
        CompletableFuture<OpenFile> opened = client.open(file.inode());
        await().until(() -> cluster.mds(0).held() > 0);
        evict();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        assertThat(read(get(opened), 0, 10)).isEqualTo("abc");
        assertThat(cluster.names().opens(file.inode())).isEqualTo(1);
    }

    @Test
    void openedJustBeforeTheEvictionAndAnsweredAfterIt() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        get(file.release());
        await().until(() -> cluster.names().opens(file.inode()) == 0);
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.LATE : Fault.NONE);
        CompletableFuture<OpenFile> opened = client.open(file.inode());
        CompletableFuture<OpenFile> created = client.create(1, bytes("g"), REGULAR, true, WHO);
        await().until(() -> cluster.mds(0).held() == 2);
        cluster.mds(0).faults(m -> Fault.NONE);
        long old = evict();
        await().until(() -> cluster.names().sessions() == 1);
        cluster.mds(0).letGo();
        get(write(get(opened), 0, "x"));
        get(write(get(created), 0, "y"));
        long session = cluster.names().onlySession();
        assertThat(session).isNotEqualTo(old);
        assertThat(cluster.names().opens(session, file.inode())).isEqualTo(1);
        assertThat(cluster.names().opens(session, get(created).inode())).isEqualTo(1);
    }

    // ---- after a pause longer than the lease

    /** One that is over as soon as it has begun stands for a pause at any moment. */
    private OpenFile pausing(CairnClient client) {
        OpenFile file = written(client, "f", "abc");
        cluster.mds(0).faults(m -> m == Method.RENEW_SESSION ? Fault.HOLD : Fault.NONE);
        return file;
    }

    private void wake() {
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
    }

    private long writesReceived() {
        return cluster.data().stream().mapToLong(d -> d.received().size()).sum();
    }

    @Test
    void whatBeginsWhenTheLeaseIsOverWaitsUntilTheSessionIsKnownToLive() {
        cluster.mds(0).expiry(1);
        CairnClient client = connect();
        OpenFile file = pausing(client);
        long before = writesReceived();
        CompletableFuture<Void> first = write(file, 0, "12");
        CompletableFuture<Void> second = write(file, 1, "34");
        await().until(() -> cluster.mds(0).held() >= 1);
        assertThat(writesReceived()).isEqualTo(before);
        long session = cluster.names().onlySession();
        wake();
        get(first);
        get(second);
        assertThat(read(file, 0, 10)).isEqualTo("134");
        assertThat(cluster.names().onlySession()).isEqualTo(session);
    }

    @Test
    void andIsDoneInTheNextSessionWhereItDoesNot() {
        cluster.mds(0).expiry(1);
        CairnClient client = connect();
        OpenFile file = pausing(client);
        CompletableFuture<Void> first = write(file, 0, "12");
        CompletableFuture<Void> second = write(file, 1, "34");
        CompletableFuture<Long> third = append(file, "56");
        await().until(() -> cluster.mds(0).held() >= 1);
        long old = evict();
        wake();
        get(first);
        get(second);
        assertThat(get(third)).isEqualTo(3);
        get(file.flush());
        assertThat(read(file, 0, 10)).isEqualTo("13456");
        assertThat(cluster.names().onlySession()).isNotEqualTo(old);
    }

    // ---- what is lost

    /** As after a standstill: attributes are asked for before anything tells of the eviction. */
    @Test
    void theCutOfItsEvictionDoesNotHideWhatWasLost() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        evict();
        assertThat(get(client.lookup(1, bytes("f"))).getTruncateSequence()).isPositive();
        assertThat(errno(file.fsync())).isEqualTo(Errno.EIO);
        isLost(file);
    }

    /** A cut by another client is none of an eviction: once it is known, all goes on. */
    @Test
    void theCutOfAnotherClientIsNoLoss() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        CairnClient other = connect();
        OpenFile theirs = get(other.open(file.inode()));
        get(resize(other, theirs, 0));
        get(theirs.release());
        other.close();
        await().until(() -> cluster.names().sessions() == 1);
        get(client.lookup(1, bytes("f")));
        get(file.fsync());
        evictAndNotice();
        get(write(file, 0, "new"));
        get(file.fsync());
        assertThat(read(file, 0, 10)).isEqualTo("new");
    }

    @Test
    void aFileWhoseSizeWasNotPublishedFailsUntilItIsOpenedAgain() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        OpenFile clean = written(client, "g", "xyz");
        evict();
        isLost(file);
        isLost(file);
        assertThat(cluster.names().attr(file.inode()).getSize()).isZero();
        assertThat(read(file, 0, 10)).isEmpty();
        get(write(clean, 3, "!"));
        get(clean.flush());

        OpenFile again = get(client.open(file.inode()));
        get(write(again, 0, "abcd"));
        get(again.fsync());
        get(again.flush());
        assertThat(read(again, 0, 10)).isEqualTo("abcd");
        isLost(file);
        get(file.release());
        get(write(again, 4, "e"));
        get(again.release());
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(5);
    }

    @Test
    void aWriteInFlightFailsAndIsNeverExecutedInTheNewSession() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        data(Fault.HOLD);
        CompletableFuture<Void> written = write(file, 0, "x");
        CompletableFuture<Void> behind = write(file, 0, "y");
        await().until(() -> held() == 1);
        long old = evict();
        get(mkdir(client, "d"));
        assertThat(cluster.names().onlySession()).isNotEqualTo(old);
        data(Fault.NONE);
        letGo();
        assertThat(errno(written)).isEqualTo(Errno.EIO);
        assertThat(errno(behind)).isEqualTo(Errno.EIO);
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        isLost(file);
        assertThat(cluster.data())
                .flatExtracting(d -> d.received())
                .filteredOn(op -> op.type() == DataOpType.WRITE)
                .extracting(DataOp::session)
                .containsOnly(old);
        OpenFile again = get(client.open(file.inode()));
        get(write(again, 0, "z"));
        assertThat(read(again, 0, 10)).isEqualTo("zbc");
    }

    @Test
    void aWriteThatWaitsToBeRepeatedIsNotRepeatedInTheNewSession() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        data(Fault.RETRY);
        CompletableFuture<Void> written = write(file, 0, "x");
        await().until(() -> cluster.data().stream().anyMatch(d -> d.received().size() > 2));
        evict();
        assertThat(errno(written)).isEqualTo(Errno.EIO);
        data(Fault.NONE);
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        isLost(file);
    }

    @Test
    void aSizeOnItsWayToTheMdsIsNotPublishedInTheNewSession() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Void> synced = file.fsync();
        CompletableFuture<Attr> made = mkdir(client, "d");
        await().until(() -> cluster.mds(0).held() == 2);
        cluster.mds(0).faults(m -> Fault.NONE);
        evict();
        await().until(() -> cluster.names().sessions() == 1);
        cluster.mds(0).letGo();
        assertThat(errno(synced)).isEqualTo(Errno.EIO);
        get(made); // refused as a whole, so it was certainly not executed
        isLost(file);
        assertThat(cluster.names().attr(file.inode()).getSize()).isZero();
    }

    @Test
    void aMutationThatMayHaveBeenExecutedFails() {
        CairnClient client = connect();
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.CUT_AFTER : Fault.HOLD);
        CompletableFuture<Attr> made = mkdir(client, "d");
        await().until(() -> cluster.mds(0).held() > 0); // looks for the leader
        evict();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        assertThat(failure(made))
                .matches(e -> e.errno() == Errno.EIO)
                .hasMessageContaining("evicted");
        assertThat(errno(mkdir(client, "d"))).isEqualTo(Errno.EEXIST);
    }

    // ---- what is gone

    @Test
    void aFileThatIsNoLongerThereIsStale() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        cluster.mds(0).faults(m -> m == Method.OPEN_SESSION ? Fault.HOLD : Fault.NONE);
        evict();
        await().until(() -> cluster.mds(0).held() == 1);
        cluster.mds(0).faults(m -> Fault.NONE);
        unlinkAsAnother("f");
        CompletableFuture<?> waited = file.read(0, 3);
        cluster.mds(0).letGo();
        assertThat(errno(waited)).isEqualTo(Errno.ESTALE);
        isGone(client, file);
        OpenFile other = written(client, "f", "xyz");
        assertThat(read(other, 0, 3)).isEqualTo("xyz");
        get(file.release());
    }

    @Test
    void soIsOneThatHadNoNameAnyMore() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        get(client.unlink(1, bytes("f")));
        assertThat(read(file, 0, 3)).isEqualTo("abc");
        evict();
        isGone(client, file);
        get(file.release());
        get(mkdir(client, "d"));
    }

    /** It fails after the file was found gone, with the end of its session. */
    @Test
    void aReadThatIsRefusedOnceItsFileIsGoneSaysSo() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        get(client.unlink(1, bytes("f")));
        data(Fault.HOLD);
        CompletableFuture<?> read = file.read(0, 3);
        await().until(() -> held() == 1);
        data(Fault.NONE);
        evictAndNotice();
        assertThat(errno(file.fsync())).isEqualTo(Errno.ESTALE);
        letGo();
        assertThat(errno(read)).isEqualTo(Errno.ESTALE);
    }

    private static void isGone(CairnClient client, OpenFile file) {
        assertThat(errno(file.read(0, 3))).isEqualTo(Errno.ESTALE);
        assertThat(errno(write(file, 0, "new"))).isEqualTo(Errno.ESTALE);
        assertThat(errno(append(file, "new"))).isEqualTo(Errno.ESTALE);
        assertThat(errno(file.fsync())).isEqualTo(Errno.ESTALE);
        assertThat(errno(client.getAttr(file.inode()))).isEqualTo(Errno.ESTALE);
    }

    // ---- what belongs to the session

    @Test
    void theRightToAppendIsAskedForAgain() {
        CairnClient client = connect();
        OpenFile file = get(client.create(1, bytes("f"), REGULAR, true, true, WHO));
        get(append(file, "abc"));
        get(file.fsync());
        long old = evictAndNotice();
        CairnClient other = connect();
        OpenFile others = get(other.open(file.inode(), true));
        get(append(others, "def"));
        get(append(file, "ghi"));
        get(append(others, "jkl"));
        get(file.flush());
        get(others.flush());
        assertThat(read(others, 0, 100)).isEqualTo("abcdefghijkl");
        assertThat(cluster.names().appender(file.inode())).isNotEqualTo(old);
    }

    @Test
    void appendsThatWaitForTheRightGoOn() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abc");
        long session = cluster.names().onlySession();
        CairnClient other = connect();
        OpenFile others = get(other.open(file.inode(), true));
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        CompletableFuture<Long> first = append(others, "def");
        await().until(() -> held() == 1);
        CompletableFuture<Long> second = append(file, "ghi");
        await().until(() -> cluster.mds(0).inLine() == 1);
        cluster.evict(session);
        get(mkdir(client, "d"));
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        letGo();
        get(first);
        assertThat(get(second)).isEqualTo(6);
        get(file.flush());
        assertThat(read(get(other.open(file.inode())), 0, 100)).isEqualTo("abcdefghi");
    }

    @Test
    void anAppendInFlightFails() {
        CairnClient client = connect();
        OpenFile file = get(client.create(1, bytes("f"), REGULAR, true, true, WHO));
        get(append(file, "abc"));
        get(file.fsync());
        data(Fault.HOLD);
        CompletableFuture<Long> first = append(file, "def");
        CompletableFuture<Long> second = append(file, "ghi");
        await().until(() -> held() == 1);
        evict();
        get(mkdir(client, "d"));
        data(Fault.NONE);
        letGo();
        assertThat(errno(first)).isEqualTo(Errno.EIO);
        assertThat(errno(second)).isEqualTo(Errno.EIO);
        isLost(file);
        OpenFile again = get(client.open(file.inode(), true));
        get(append(again, "xyz"));
        assertThat(read(again, 0, 100)).isEqualTo("abcxyz");
    }

    @Test
    void whoeverWaitsForATruncationGoesOnWaiting() {
        CairnClient client = connect();
        OpenFile file = written(client, "f", "abcdef");
        CairnClient other = connect();
        OpenFile others = get(other.open(file.inode()));
        cluster.mds(0).faults(m -> m == Method.WAIT_TRUNCATED ? Fault.HOLD : Fault.NONE);
        long mine = cluster.names().lowestSession();
        CompletableFuture<?> cut = resize(client, file, 2);
        await().until(() -> cluster.mds(0).held() == 1);
        cluster.evict(mine);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        get(cut);
        assertThat(read(others, 0, 100)).isEqualTo("ab");
    }
}
