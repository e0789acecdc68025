package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.AppendRecall;
import io.cairn.common.proto.AwaitAppendReply;
import io.cairn.common.proto.AwaitAppendRequest;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.mds.server.TestGroup.Answer;
import io.cairn.mds.session.AppendTurns;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions in line for the append right of a file, over RPC. */
final class AppendTurnsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int LONG_MILLIS = 3000;
    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;

    private static Mutation openToAppend(long inode) {
        return TestSession.mutation()
                .setOpen(OpenOp.newBuilder().setInode(inode).setAppend(true))
                .build();
    }

    private static Errno errno(MutationResult result) {
        return Errno.of(result.getErrno());
    }

    private static CompletableFuture<Answer<AwaitAppendReply>> ask(
            TestSession session, int member, long inode, int waitMillis) {
        return session.group.send(
                member,
                Method.AWAIT_APPEND,
                AwaitAppendRequest.newBuilder()
                        .setSession(session.id())
                        .setInode(inode)
                        .setWaitMillis(waitMillis)
                        .build(),
                AwaitAppendReply.parser());
    }

    /** Asks as often as it takes. */
    private static void awaitTurn(TestSession session, long inode) {
        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> get(ask(session, 1, inode, LONG_MILLIS)).get().getTurn());
    }

    private static <T> T get(CompletableFuture<T> future) {
        try {
            return future.get(30, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** A file the session has created, has open, and has the right to append to. */
    private static long file(TestSession holder) {
        long inode = TestSession.inode(holder.mutate(TestSession.create("f", true))).getInode();
        assertThat(holder.mutate(openToAppend(inode)).getAppendRight()).isTrue();
        return inode;
    }

    private static TestSession opener(TestGroup group, long inode) {
        TestSession session = new TestSession(group);
        assertThat(session.mutate(openToAppend(inode)).getAppendRight()).isFalse();
        return session;
    }

    @Test
    void theHolderIsAskedAndTheTurnIsKeptForWhoWaited() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            List<AppendRecall> recalls =
                    group.record(
                            Method.APPEND_RECALL, head -> Heads.parse(AppendRecall.parser(), head));
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            assertThat(recalls).isEmpty();
            var turn = ask(two, 1, f, LONG_MILLIS);
            await().atMost(PATIENCE).until(() -> !recalls.isEmpty());
            assertThat(recalls).allMatch(r -> r.getInode() == f);
            assertThat(turn).isNotDone();
            assertThat(errno(one.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
            assertThat(get(turn).get().getTurn()).isTrue();
            assertThat(two.mutate(TestSession.acquireAppend(f)).getAppendRight()).isTrue();
            assertThat(errno(one.mutate(TestSession.acquireAppend(f)))).isEqualTo(Errno.EAGAIN);
        }
    }

    @Test
    void whoReturnedItDoesNotTakeItBeforeTheNextInLine() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            for (int i = 0; i < 50; i++) {
                var turn = ask(two, 1, f, LONG_MILLIS);
                long before = System.nanoTime();
                assertThat(errno(one.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
                assertThat(get(turn).get().getTurn()).isTrue();
                MutationResult early = one.mutate(TestSession.acquireAppend(f));
                MutationResult opened = one.mutate(openToAppend(f));
                if (System.nanoTime() - before < AppendTurns.TURN_NANOS) {
                    // Its turn has not passed, however slow this machine is.
                    assertThat(errno(early)).isEqualTo(Errno.EAGAIN);
                    assertThat(opened.getAppendRight()).isFalse();
                    assertThat(two.mutate(TestSession.acquireAppend(f)).getAppendRight()).isTrue();
                }
                two.mutate(TestSession.returnAppend(f, 0));
                awaitTurn(one, f);
                assertThat(one.mutate(TestSession.acquireAppend(f)).getAppendRight()).isTrue();
            }
        }
    }

    @Test
    void aTurnThatIsNotUsedPasses() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            TestSession three = opener(group, f);
            assertThat(errno(one.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
            assertThat(get(ask(two, 1, f, LONG_MILLIS)).get().getTurn()).isTrue();
            // The answer may have been lost: it is the same session's turn.
            assertThat(get(ask(two, 1, f, LONG_MILLIS)).get().getTurn()).isTrue();
            awaitTurn(three, f);
            assertThat(three.mutate(TestSession.acquireAppend(f)).getAppendRight()).isTrue();
        }
    }

    @Test
    void inTheOrderInWhichTheyCameAlsoWhereTheyHadToAskAgain() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession holder = new TestSession(group);
            long f = file(holder);
            TestSession first = opener(group, f);
            TestSession second = opener(group, f);
            assertThat(get(ask(first, 1, f, 1)).get().getTurn()).isFalse();
            long toldToAskAgain = System.nanoTime();
            List<String> told = new CopyOnWriteArrayList<>();
            var later = ask(second, 1, f, LONG_MILLIS).thenAccept(a -> told.add("second"));
            var again = ask(first, 1, f, LONG_MILLIS).thenAccept(a -> told.add("first"));
            // Both are in line: what follows on their connection comes after them.
            assertThat(errno(holder.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
            boolean inTime = System.nanoTime() - toldToAskAgain < AppendTurns.PLACE_NANOS;
            get(again);
            get(later);
            if (inTime) {
                assertThat(told).containsExactly("first", "second");
            }
        }
    }

    @Test
    void aRecallIsRepeatedUntilItIsHeeded() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            List<AppendRecall> recalls =
                    group.record(
                            Method.APPEND_RECALL, head -> Heads.parse(AppendRecall.parser(), head));
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            var turn = ask(two, 1, f, LONG_MILLIS);
            await().atMost(PATIENCE).until(() -> recalls.size() >= 2);
            assertThat(errno(one.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
            assertThat(get(turn).get().getTurn()).isTrue();
        }
    }

    @Test
    void theHoldersEndIsAReturn() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            var turn = ask(two, 1, f, LONG_MILLIS);
            group.call(
                            Method.CLOSE_SESSION,
                            CloseSessionRequest.newBuilder().setSession(one.id()).build(),
                            CloseSessionReply.parser())
                    .get();
            assertThat(get(turn).get().getTurn()).isTrue();
            Answer<AwaitAppendReply> gone = get(ask(one, 1, f, LONG_MILLIS));
            assertThat(gone.status().advice()).isEqualTo(Advice.FENCED);
        }
    }

    @Test
    void aSilentHolderThatOthersWaitForIsEvicted() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            List<AppendRecall> recalls =
                    group.record(
                            Method.APPEND_RECALL, head -> Heads.parse(AppendRecall.parser(), head));
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession idle = new TestSession(group);
            TestSession two = opener(group, f);
            var _ = ask(two, 1, f, LONG_MILLIS);
            await().atMost(PATIENCE).until(() -> !recalls.isEmpty());
            group.advance(1, TimeUnit.SECONDS.toNanos(16));
            await().atMost(PATIENCE)
                    .until(() -> {
                        var _ = get(ask(two, 1, f, 100)); // whoever waits asks again and again
                        return group.status().getSessionsCount() == 2;
                    });
            assertThat(one.renew().status().advice()).isEqualTo(Advice.FENCED);
            assertThat(idle.renew().status().ok()).isTrue();
            assertThat(two.renew().status().ok()).isTrue();
            awaitTurn(two, f);
        }
    }

    @Test
    void aNewLeaderIsAskedAgain() throws Exception {
        String quick = SETTINGS.replace("[raft]", "[raft]\nleader_lease = \"600ms\"");
        try (TestGroup group = new TestGroup(directory, 3, quick)) {
            int leader = group.awaitServing();
            TestSession one = new TestSession(group);
            long f = file(one);
            TestSession two = opener(group, f);
            var turn = ask(two, leader, f, LONG_MILLIS);
            group.stop(leader);
            assertThat(get(turn).status().ok()).isFalse();
            int next = group.awaitServing();
            List<AppendRecall> recalls =
                    group.record(
                            Method.APPEND_RECALL, head -> Heads.parse(AppendRecall.parser(), head));
            one.renew(); // only now does the new leader know how to reach it
            var again = ask(two, next, f, LONG_MILLIS);
            await().atMost(PATIENCE).until(() -> !recalls.isEmpty());
            assertThat(errno(one.mutate(TestSession.returnAppend(f, 0)))).isEqualTo(Errno.OK);
            assertThat(get(again).get().getTurn()).isTrue();
            assertThat(two.mutate(TestSession.acquireAppend(f)).getAppendRight()).isTrue();
        }
    }
}
