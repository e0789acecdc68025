package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.AwaitLockReply;
import io.cairn.common.proto.AwaitLockRequest;
import io.cairn.common.proto.CancelLockReply;
import io.cairn.common.proto.CancelLockRequest;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.ListLocksReply;
import io.cairn.common.proto.ListLocksRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SetLockOp;
import io.cairn.common.proto.TestLockReply;
import io.cairn.common.proto.TestLockRequest;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls that wait for locks at the leader, over RPC. */
final class LockWaitsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int LONG_MILLIS = 3000;

    /** Of a session, as docs/limits.md says. */
    private static final int MAX_WAITERS = 2048;

    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;
    private long tickets;

    private static FileLock exclusive(long inode) {
        return FileLock.newBuilder()
                .setInode(inode)
                .setOwner(7)
                .setExclusive(true)
                .setEnd(Long.MAX_VALUE)
                .build();
    }

    private static Errno lock(TestSession session, FileLock lock) {
        return set(session, SetLockOp.newBuilder().setLock(lock).setWaits(true));
    }

    private static Errno unlock(TestSession session, FileLock lock) {
        return set(session, SetLockOp.newBuilder().setLock(lock).setUnlock(true));
    }

    private static Errno set(TestSession session, SetLockOp.Builder op) {
        Mutation mutation = TestSession.mutation().setSetLock(op).build();
        MutationResult result = session.mutate(mutation);
        return Errno.of(result.getErrno());
    }

    private CompletableFuture<Answer<AwaitLockReply>> ask(
            TestSession session, int member, FileLock lock, long ticket) {
        return session.group.send(
                member,
                Method.AWAIT_LOCK,
                AwaitLockRequest.newBuilder()
                        .setLock(lock.toBuilder().setSession(session.id()))
                        .setTicket(ticket)
                        .setWaitMillis(LONG_MILLIS)
                        .build(),
                AwaitLockReply.parser());
    }

    private CompletableFuture<Answer<AwaitLockReply>> ask(TestSession session, FileLock lock) {
        return ask(session, 1, lock, ++tickets);
    }

    private static ListLocksReply list(TestGroup group, long inode) {
        return group.call(
                        Method.LIST_LOCKS,
                        ListLocksRequest.newBuilder().setInode(inode).build(),
                        ListLocksReply.parser())
                .get();
    }

    private static void awaitWaiting(TestGroup group, long inode, int calls) {
        await().atMost(PATIENCE).until(() -> list(group, inode).getWaitingCount() == calls);
    }

    private static <T> T get(CompletableFuture<T> future) {
        try {
            return future.get(30, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** A file that the session has open. */
    private static long file(TestSession session, String name) {
        return TestSession.inode(session.mutate(TestSession.create(name, true))).getInode();
    }

    private static TestSession opener(TestGroup group, long... inodes) {
        TestSession session = new TestSession(group);
        for (long inode : inodes) {
            assertThat(session.mutate(TestSession.open(inode)).getErrno()).isZero();
        }
        return session;
    }

    @Test
    void itIsTheWaitersTurnWhenTheLockIsGivenUpAndNobodyElseTakesIt() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            TestSession two = opener(group, f);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            assertThat(lock(two, exclusive(f))).isEqualTo(Errno.EAGAIN);
            var turn = ask(two, exclusive(f));
            awaitWaiting(group, f, 1);
            assertThat(list(group, 0).getLocksList())
                    .containsExactly(exclusive(f).toBuilder().setSession(one.id()).build());
            assertThat(turn).isNotDone();
            long before = System.nanoTime();
            assertThat(unlock(one, exclusive(f))).isEqualTo(Errno.OK);
            assertThat(get(turn).get().getTurn()).isTrue();
            Errno early = lock(one, exclusive(f));
            if (System.nanoTime() - before < TimeUnit.MILLISECONDS.toNanos(100)) {
                // Its turn has not passed, however slow this machine is.
                assertThat(early).isEqualTo(Errno.EAGAIN);
                assertThat(lock(two, exclusive(f))).isEqualTo(Errno.OK);
            }
        }
    }

    @Test
    void whoIsCancelledHasNoTurn() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            TestSession two = opener(group, f);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            var turn = ask(two, exclusive(f));
            awaitWaiting(group, f, 1);
            group.call(
                            Method.CANCEL_LOCK,
                            CancelLockRequest.newBuilder()
                                    .setSession(two.id())
                                    .setInode(f)
                                    .setTicket(tickets)
                                    .build(),
                            CancelLockReply.parser())
                    .get();
            assertThat(get(turn).get().getTurn()).isFalse();
            assertThat(list(group, f).getWaitingCount()).isZero();
            assertThat(unlock(one, exclusive(f))).isEqualTo(Errno.OK);
            assertThat(lock(one, exclusive(f))).as("no turn is kept").isEqualTo(Errno.OK);
        }
    }

    @Test
    void whoWouldWaitForEverIsTold() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            long g = file(one, "g");
            TestSession two = opener(group, f, g);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            assertThat(lock(two, exclusive(g))).isEqualTo(Errno.OK);
            var first = ask(one, exclusive(g));
            awaitWaiting(group, g, 1);
            assertThat(get(ask(two, exclusive(f))).status().errno()).isEqualTo(Errno.EDEADLK);
            assertThat(first).isNotDone();
            assertThat(unlock(two, exclusive(g))).isEqualTo(Errno.OK);
            assertThat(get(first).get().getTurn()).isTrue();
        }
    }

    @Test
    void theEndOfTheHoldersSessionIsAnUnlock() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            TestSession two = opener(group, f);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            var turn = ask(two, exclusive(f));
            group.call(
                            Method.CLOSE_SESSION,
                            CloseSessionRequest.newBuilder().setSession(one.id()).build(),
                            CloseSessionReply.parser())
                    .get();
            assertThat(get(turn).get().getTurn()).isTrue();
            assertThat(lock(two, exclusive(f))).isEqualTo(Errno.OK);
        }
    }

    @Test
    void locksOutliveALeaderAndWhoWaitsAsksTheNextOne() throws Exception {
        String quick = SETTINGS.replace("[raft]", "[raft]\nleader_lease = \"600ms\"");
        try (TestGroup group = new TestGroup(directory, 3, quick)) {
            int leader = group.awaitServing();
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            TestSession two = opener(group, f);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            var turn = ask(two, leader, exclusive(f), 1);
            group.stop(leader);
            assertThat(get(turn).status().ok()).isFalse();
            int next = group.awaitServing();
            var test =
                    group.call(
                            Method.TEST_LOCK,
                            TestLockRequest.newBuilder()
                                    .setLock(exclusive(f).toBuilder().setSession(two.id()))
                                    .build(),
                            TestLockReply.parser());
            assertThat(test.get().getConflict().getSession()).isEqualTo(one.id());
            var again = ask(two, next, exclusive(f), 1);
            awaitWaiting(group, f, 1);
            assertThat(unlock(one, exclusive(f))).isEqualTo(Errno.OK);
            assertThat(get(again).get().getTurn()).isTrue();
            assertThat(lock(two, exclusive(f))).isEqualTo(Errno.OK);
        }
    }

    /** Those that wait are told to ask again after 3 s, and lose their place a second later. */
    @Test
    void atTheLimitWhoWaitsMayGoOnWaiting() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one, "f");
            TestSession two = opener(group, f);
            assertThat(lock(one, exclusive(f))).isEqualTo(Errno.OK);
            var first = ask(two, exclusive(f));
            var second = ask(two, exclusive(f));
            for (int i = 2; i < MAX_WAITERS; i++) {
                var _ = ask(two, exclusive(f));
            }
            var tooMany = ask(two, exclusive(f));
            var again = ask(two, 1, exclusive(f), 1);
            assertThat(get(first).get().getTurn()).isFalse();
            Errno refused = get(tooMany).status().errno();
            if (!second.isDone()) { // nobody was told to ask again, and has lost its place since
                assertThat(refused).isEqualTo(Errno.ENOLCK);
            }
            assertThat(get(again).status().errno()).isEqualTo(Errno.OK);
        }
    }
}
