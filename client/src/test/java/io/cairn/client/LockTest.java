package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.api.LockCall;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls for locks: waiting, interrupted, given up while they are on their way, lost. */
class LockTest extends ClientFixture {
    private static final long END = Long.MAX_VALUE;

    private CairnClient client;
    private OpenFile file;
    private OpenFile others;
    private int barriers;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    @BeforeEach
    void open() {
        client = connect("publish_interval = \"1min\"", "event_loops = 8");
        file = create(client, "f");
        others = get(connect().open(file.inode()));
    }

    private static FileLock range(long owner, boolean exclusive, long start, long end) {
        return FileLock.newBuilder()
                .setOwner(owner)
                .setExclusive(exclusive)
                .setStart(start)
                .setEnd(end)
                .build();
    }

    private static LockCall lock(OpenFile file, FileLock lock) {
        return file.lock(lock, true, () -> false);
    }

    private static void locked(OpenFile file, FileLock lock) {
        get(lock(file, lock).had());
    }

    private List<String> locks() {
        return cluster.names().locks(file.inode());
    }

    /** A call that waits at the leader. */
    private LockCall waiting(OpenFile file, FileLock lock) {
        LockCall call = lock(file, lock);
        await().until(() -> cluster.mds(0).waitForLocks() == 1);
        assertThat(call.had()).isNotDone();
        return call;
    }

    /** A call whose mutation is on its way, and stays there. */
    private LockCall onItsWay(OpenFile file, FileLock lock) {
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        LockCall call = lock(file, lock);
        await().until(() -> cluster.mds(0).held() > 0);
        return call;
    }

    /** A write whose caller is killed while it is on its way. */
    private void killedWhileItWrites(OpenFile file) {
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        CompletableFuture<Void> written = write(file, 0, "old");
        await().until(() -> cluster.data().stream().mapToInt(d -> d.held()).sum() == 1);
        written.cancel(false);
    }

    private void itArrives() {
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        cluster.data().forEach(d -> d.letGo(new Random(1)));
    }

    private static FileLock flock(long owner, boolean exclusive) {
        return range(owner, exclusive, 0, END).toBuilder().setFlock(true).build();
    }

    /** Whatever this client has queued at the MDS before is executed. */
    private void mutationsAreExecuted() {
        create(client, "behind" + ++barriers);
    }

    private void letGo() {
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
    }

    @Test
    void whoComesNextSeesTheSizeThatWasMadeUnderTheLock() {
        locked(file, range(7, true, 0, END));
        LockCall next = waiting(others, range(7, true, 0, END));
        get(write(file, 0, "abc"));
        get(file.unlock(range(7, false, 0, END)));
        assertThat(get(next.had()).getSize()).isEqualTo(3);
        assertThat(locks()).containsExactly("7 exclusive 0-end");
    }

    @Test
    void whoDoesNotWaitIsRefused() {
        locked(file, range(7, true, 0, END));
        LockCall call = others.lock(range(7, false, 5, 5), false, () -> false);
        assertThat(errno(call.had())).isEqualTo(Errno.EAGAIN);
    }

    @Test
    void whoIsInterruptedWhileItWaitsHasNothing() {
        locked(file, range(7, true, 0, END));
        LockCall call = waiting(others, range(7, true, 0, END));
        call.interrupt();
        assertThat(errno(call.had())).isEqualTo(Errno.EINTR);
        assertThat(cluster.mds(0).waitForLocks()).isZero();
        get(file.unlock(range(7, false, 0, END)));
        assertThat(locks()).isEmpty();
    }

    @Test
    void whoIsInterruptedWhileItsLockIsTakenHasIt() {
        LockCall call = onItsWay(file, range(7, true, 0, 9));
        call.interrupt();
        assertThat(call.had()).isNotDone();
        letGo();
        get(call.had());
        assertThat(locks()).containsExactly("7 exclusive 0-9");
    }

    @Test
    void whoIsGoneGivesBackExactlyWhatWasNew() {
        locked(file, range(7, false, 0, 9));
        locked(file, range(7, true, 12, 13));
        LockCall call = onItsWay(file, range(7, true, 5, 19));
        call.had().cancel(false);
        letGo();
        await().until(() -> locks().equals(List.of("7 exclusive 12-13", "7 shared 0-9")));
        await().until(() -> cluster.names().executed().size() >= 7);
    }

    @Test
    void whatAProcessClosedDoesNotComeBackWithACallThatIsGone() {
        locked(file, range(7, false, 0, 9));
        LockCall call = onItsWay(file, range(7, true, 5, 19));
        call.had().cancel(false);
        var closed = file.descriptorClosed(7);
        letGo();
        get(closed);
        assertThat(locks()).isEmpty();
    }

    @Test
    void whoWaitsAsksTheNextLeader() {
        locked(file, range(7, true, 0, END));
        LockCall call = waiting(others, range(7, true, 0, END));
        cluster.leader(cluster.mds(1));
        await().until(() -> cluster.mds(1).waitForLocks() == 1);
        get(file.unlock(range(7, false, 0, END)));
        get(call.had());
        assertThat(locks()).containsExactly("7 exclusive 0-end");
    }

    @Test
    void aHandleTakesItsLocksAlongAndLeavesThoseOfOthers() {
        OpenFile second = get(client.open(file.inode()));
        locked(file, range(1, true, 0, 9)); // of an open file
        locked(second, range(7, true, 20, 29));
        locked(file, range(7, true, 30, 39)); // of a process with both
        locked(file, range(2, true, 0, END).toBuilder().setFlock(true).build());
        get(file.release());
        await().until(() -> locks().equals(List.of("7 exclusive 20-39")));
        get(second.descriptorClosed(7));
        assertThat(locks()).isEmpty();
    }

    @Test
    void anOpenFilesLockEndsBehindTheWriteOfACallerThatIsGone() {
        locked(file, flock(7, true));
        LockCall next = waiting(others, flock(8, true));
        killedWhileItWrites(file);
        var released = file.release();
        mutationsAreExecuted();
        assertThat(locks()).containsExactly("7 exclusive 0-end");
        itArrives();
        get(next.had());
        get(released);
        get(write(others, 0, "new"));
        assertThat(read(others, 0, 10)).isEqualTo("new");
    }

    @Test
    void aProcesssLockEndsBehindTheWriteOfACallerThatIsGone() {
        locked(file, range(7, true, 0, 9));
        killedWhileItWrites(file);
        var closed = file.descriptorClosed(7);
        mutationsAreExecuted();
        assertThat(locks()).containsExactly("7 exclusive 0-9");
        assertThat(closed).isNotDone();
        itArrives();
        get(closed);
        assertThat(locks()).isEmpty();
    }

    @Test
    void whoHasTheNumberOfAnOwnerThatIsGoneLocksBehindItsEnd() {
        OpenFile second = get(client.open(file.inode()));
        locked(file, flock(7, true));
        killedWhileItWrites(file);
        get(file.release());
        LockCall call = lock(second, flock(7, false));
        LockCall atOnce = second.lock(flock(7, false), false, () -> false);
        LockCall interrupted = lock(second, flock(7, false));
        LockCall killed = lock(second, flock(7, true));
        interrupted.interrupt();
        assertThat(errno(interrupted.had())).isEqualTo(Errno.EINTR);
        killed.had().cancel(false);
        mutationsAreExecuted();
        assertThat(locks()).containsExactly("7 exclusive 0-end");
        itArrives();
        get(call.had());
        get(atOnce.had());
        mutationsAreExecuted();
        assertThat(locks()).containsExactly("7 shared 0-end");
        get(second.release());
        await().until(() -> locks().isEmpty());
    }

    @Test
    void whatAParentUnlocksEndsBehindTheWriteOfItsChild() {
        locked(file, flock(7, true));
        killedWhileItWrites(file);
        var unlocked = file.unlock(flock(7, false));
        mutationsAreExecuted();
        assertThat(locks()).containsExactly("7 exclusive 0-end");
        LockCall again = lock(file, flock(7, false));
        itArrives();
        get(unlocked);
        get(again.had());
        assertThat(locks()).containsExactly("7 shared 0-end");
    }

    @Test
    void anUnlockWaitsForNoWriteWhoseCallerIsThere() {
        locked(file, range(7, true, 0, 9));
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        CompletableFuture<Void> written = write(file, 20, "of another process");
        await().until(() -> cluster.data().stream().mapToInt(d -> d.held()).sum() == 1);
        get(file.unlock(range(7, false, 0, 9)));
        assertThat(locks()).isEmpty();
        itArrives();
        get(written);
    }

    @Test
    void nothingIsSentForWhoHasNoLocks() {
        int before = cluster.names().executed().size();
        get(file.descriptorClosed(7));
        get(file.unlock(range(7, false, 3, 9)));
        assertThat(cluster.names().executed()).hasSize(before);
    }

    @Test
    void aFileThatWasLockedFailsWhenTheSessionIsLostAndOneThatWaitsGoesOn() {
        OpenFile free = create(client, "g");
        locked(file, range(7, true, 0, 9));
        locked(others, range(8, true, 20, 29));
        LockCall call = waiting(file, range(9, true, 25, 25));
        long lost = cluster.names().lowestSession();
        cluster.evict(lost);
        await().until(() -> locks().equals(List.of("8 exclusive 20-29")));
        await().until(() -> errno(write(file, 0, "x")) == Errno.EIO);
        assertThat(errno(file.fsync())).isEqualTo(Errno.EIO);
        assertThat(errno(lock(file, range(7, true, 0, 9)).had())).isEqualTo(Errno.EIO);
        get(write(free, 0, "x"));
        OpenFile again = get(client.open(file.inode()));
        locked(again, range(7, true, 0, 9));
        get(others.unlock(range(8, false, 0, END)));
        assertThat(errno(call.had())).as("its file has lost locks too").isEqualTo(Errno.EIO);
    }

    /**
     * The session's end is being told: the files know of it, but answers that come now are still
     * handed on. That moment lasts until a write of another file has failed.
     */
    @Test
    void aLockThatIsAnsweredWhileItsSessionEndsIsTakenInTheNextOne() {
        OpenFile written = create(client, "g");
        get(write(written, 0, "raises its ceiling"));
        int before = cluster.names().executed().size();
        cluster.mds(0)
                .faults(m ->
                        switch (m) {
                            case MUTATE -> Fault.LATE;
                            case RENEW_SESSION -> Fault.HOLD; // or the end is heard of there
                            default -> Fault.NONE;
                        });
        LockCall call = lock(file, range(7, true, 0, 9));
        await().until(() -> cluster.names().executed().size() == before + 1);
        CompletableFuture<Attr> behind = client.mkdir(1, bytes("behind"), 0755, WHO);
        await().until(() -> cluster.names().executed().size() == before + 2);
        cluster.data().forEach(d -> d.faults(op -> op.offset() == 0 ? Fault.RETRY : Fault.NONE));
        CompletableFuture<?> parked =
                write(written, 0, "x")
                        .whenComplete((v, thrown) -> {
                            letGo();
                            get(behind); // answered behind the lock
                        });
        // Then it is repeated so seldom that it is not in flight at the session's end.
        await().until(() -> cluster.data().stream().anyMatch(d -> d.received().size() > 10));
        cluster.evict(cluster.names().lowestSession());
        CompletableFuture<Void> refused = write(written, 9, "y");
        get(call.had());
        assertThat(locks()).containsExactly("7 exclusive 0-9");
        assertThat(errno(refused)).isEqualTo(Errno.EIO);
        assertThat(parked).isCompletedExceptionally();
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        get(write(file, 0, "z"));
    }

    @Test
    void whoIsInterruptedJustBeforeItAsksTheLeaderIsNotInLine() {
        locked(others, range(8, true, 0, END));
        CompletableFuture<LockCall> itself = new CompletableFuture<>();
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        LockCall call =
                file.lock(
                        range(7, true, 0, END),
                        true,
                        () -> {
                            itself.join().interrupt();
                            return false;
                        });
        itself.complete(call);
        await().until(() -> cluster.mds(0).held() > 0);
        letGo();
        assertThat(errno(call.had())).isEqualTo(Errno.EINTR);
        mutationsAreExecuted();
        assertThat(cluster.mds(0).waitForLocks()).isZero();
    }

    @Test
    void theNextLeaderIsNotAskedForWhoIsGone() {
        locked(others, range(8, true, 0, END));
        cluster.mds(0).faults(m -> m == Method.AWAIT_LOCK ? Fault.HOLD : Fault.NONE);
        LockCall call = lock(file, range(7, true, 0, END));
        await().until(() -> cluster.mds(0).held() == 1);
        call.interrupt();
        assertThat(errno(call.had())).isEqualTo(Errno.EINTR);
        cluster.leader(cluster.mds(1));
        mutationsAreExecuted();
        mutationsAreExecuted(); // behind what that leader was asked first
        assertThat(cluster.mds(1).waitForLocks()).isZero();
    }
}
