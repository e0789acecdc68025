package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DelegationRecall;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReturnDelegationsReply;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcClient;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are delegated to the session that made them, through real servers. */
final class DelegatedFilesTest {
    private static final int MODE = 0100600;

    @TempDir Path directory;

    private TestGroup group(int members) throws Exception {
        TestGroup group = new TestGroup(directory, members, "");
        group.awaitServing();
        return group;
    }

    /** One that has told the leader of its first round. */
    private static TestSession holder(TestGroup group) {
        TestSession session = new TestSession(group, false, true);
        session.announce(1).get();
        return session;
    }

    private static TestSession asking(TestGroup group) {
        return new TestSession(group, true, true);
    }

    private static MutationResult made(TestSession session, String name) {
        MutationResult made = session.mutate(TestSession.create(name, true));
        assertThat(made.getErrno()).isZero();
        return made;
    }

    /** One that is delegated. */
    private static long file(TestSession session, String name) {
        MutationResult made = made(session, name);
        assertThat(made.getDelegation()).isEqualTo(1);
        return made.getAttr().getInode();
    }

    private static GetAttrRequest getAttr(TestSession asking, long inode) {
        return GetAttrRequest.newBuilder().setInode(inode).setLeaseSession(asking.id()).build();
    }

    private static <R extends MessageLite> CompletableFuture<Answer<R>> ask(
            TestGroup group, Method method, MessageLite request, Parser<R> parser) {
        return group.send(group.awaitServing(), method, request, parser, Duration.ofMinutes(1));
    }

    private static CompletableFuture<Answer<GetAttrReply>> look(TestSession asking, long inode) {
        return ask(asking.group, Method.GET_ATTR, getAttr(asking, inode), GetAttrReply.parser());
    }

    private static <T> T of(CompletableFuture<T> answer) throws Exception {
        return answer.get(30, TimeUnit.SECONDS);
    }

    private static List<DelegationRecall> record(TestGroup group) {
        return group.record(
                Method.DELEGATION_RECALL, head -> Heads.parse(DelegationRecall.parser(), head));
    }

    /** That the session was asked for the file. */
    private static void awaitRecall(
            List<DelegationRecall> recalls, TestSession session, long inode) {
        Awaitility.await()
                .until(() ->
                        recalls.stream()
                                .anyMatch(r ->
                                        r.getSession() == session.id()
                                                && r.getInodesList().contains(inode)));
    }

    // ---- to whom

    @Test
    void aFileIsDelegatedToASessionThatHasToldOfARound() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = new TestSession(group, false, true);
            assertThat(maker.opened.getDelegates()).isTrue();
            assertThat(maker.opened.getDelegationMillis()).isEqualTo(15_000);
            assertThat(made(maker, "a").getDelegation()).isZero();
            maker.announce(7).get();
            assertThat(made(maker, "b").getDelegation()).isEqualTo(7);
            MutationResult closed = maker.mutate(TestSession.create("c", false));
            assertThat(closed.getDelegation()).as("one that is not open").isZero();
        }
    }

    @Test
    void whileThereIsASessionOfAnOlderClientNothingIs() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = holder(group);
            file(maker, "a");
            TestSession old = new TestSession(group);
            assertThat(old.opened.getDelegates()).isFalse();
            assertThat(made(maker, "b").getDelegation()).isZero();
            old.announce(5).get();
            assertThat(made(old, "c").getDelegation()).isZero();
            group.stop(1);
            group.start(1);
            group.awaitServing();
            maker.announce(2).get();
            assertThat(made(maker, "d").getDelegation()).isZero();
        }
    }

    @Test
    void anAnswerThatIsRepeatedDelegatesNothing() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = holder(group);
            MutateRequest create = maker.batch(maker.next++, TestSession.create("a", true));
            MutationResult first = maker.mutate(create).get().getResults(0);
            assertThat(first.getDelegation()).isEqualTo(1);
            maker.announce(2).get();
            MutationResult again = maker.mutate(create).get().getResults(0);
            assertThat(again).isEqualTo(first.toBuilder().clearDelegation().build());
            // Nor does anybody wait for it.
            TestSession other = asking(group);
            long inode = first.getAttr().getInode();
            assertThat(of(look(other, inode)).get().getAttr().getInode()).isEqualTo(inode);
        }
    }

    @Test
    void aFileThatWasThereIsNotDelegatedToWhoOpensItWithCreate() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession first = holder(group);
            TestSession second = holder(group);
            long inode = file(first, "a");
            var create = TestSession.create("a", true).toBuilder();
            create.getCreateBuilder().setExclusive(false);
            MutationResult opened = second.mutate(create.build());
            assertThat(opened.getAttr().getInode()).isEqualTo(inode);
            assertThat(opened.getCreated()).isFalse();
            assertThat(opened.getDelegation()).isZero();
            List<DelegationRecall> recalls = record(group);
            CompletableFuture<Answer<GetAttrReply>> asked = look(second, inode);
            awaitRecall(recalls, first, inode);
            first.giveBack(1, inode).get();
            assertThat(of(asked).status().ok()).isTrue();
        }
    }

    // ---- who waits

    @Test
    void aQueryOfAnotherSessionIsAnsweredWithWhatWasCommittedMeanwhile() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            CompletableFuture<Answer<LookupReply>> lookedUp =
                    ask(
                            group,
                            Method.LOOKUP,
                            TestSession.lookupRequest("a").toBuilder()
                                    .setLeaseSession(other.id())
                                    .build(),
                            LookupReply.parser());
            CompletableFuture<Answer<ReadDirReply>> listed =
                    ask(
                            group,
                            Method.READ_DIR,
                            ReadDirRequest.newBuilder()
                                    .setInode(1)
                                    .setWithAttributes(true)
                                    .setLeaseSession(other.id())
                                    .build(),
                            ReadDirReply.parser());
            awaitRecall(recalls, maker, inode);
            maker.mutate(TestSession.chmod(inode, MODE));
            assertThat(asked.isDone() || lookedUp.isDone() || listed.isDone()).isFalse();
            maker.giveBack(1, inode).get();
            assertThat(of(asked).get().getAttr().getMode()).isEqualTo(MODE);
            assertThat(of(lookedUp).get().getAttr().getMode()).isEqualTo(MODE);
            assertThat(of(listed).get().getEntriesList())
                    .filteredOn(e -> e.getInode() == inode)
                    .allMatch(e -> e.getAttr().getMode() == MODE);
            // It is over: nobody waits any more.
            assertThat(of(look(other, inode)).status().ok()).isTrue();
            assertThat(maker.mutate(TestSession.release(inode)).getErrno()).isZero();
        }
    }

    @Test
    void anOpenForReadingWaitsAsWellAndCountsAfterwards() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession reader = asking(group);
            reader.reclaim(1, 0).get();
            for (int i = 0; i < 50; i++) {
                String name = "f" + i;
                long inode = file(maker, name);
                OpenForReadingRequest open =
                        OpenForReadingRequest.newBuilder()
                                .setSession(reader.id())
                                .setTerm(reader.term)
                                .setRound(1)
                                .setInode(inode)
                                .setNumber(i + 1)
                                .build();
                CompletableFuture<Answer<OpenForReadingReply>> opened =
                        ask(group, Method.OPEN_FOR_READING, open, OpenForReadingReply.parser());
                awaitRecall(recalls, maker, inode);
                maker.mutate(TestSession.chmod(inode, MODE));
                assertThat(opened.isDone()).isFalse();
                maker.giveBack(1, inode).get();
                assertThat(of(opened).get().getAttr().getMode()).isEqualTo(MODE);
                maker.mutate(TestSession.release(inode));
                maker.mutate(TestSession.unlink(name));
                assertThat(reader.getAttr(inode).get().getAttr().getNlink()).isZero();
                reader.closeForReading(1, inode, i + 1).get();
            }
        }
    }

    @Test
    void whoMadeItNeverWaits() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            long inode = file(maker, "a");
            assertThat(of(look(maker, inode)).status().ok()).isTrue();
            // One that names no session is of whoever is on that connection.
            assertThat(maker.lookup("a").status().ok()).isTrue();
            assertThat(recalls).isEmpty();
            RpcClient elsewhere = group.newClient(Role.ROLE_CLIENT);
            try {
                CompletableFuture<Answer<LookupReply>> foreign = new CompletableFuture<>();
                elsewhere
                        .channel(group.address(1))
                        .call(
                                Method.LOOKUP_VALUE,
                                TestSession.lookupRequest("a"),
                                System.nanoTime() + TimeUnit.MINUTES.toNanos(1),
                                (status, head, payload) ->
                                        foreign.complete(
                                                new Answer<>(
                                                        status,
                                                        status.ok()
                                                                ? Heads.parse(
                                                                        LookupReply.parser(), head)
                                                                : null)));
                awaitRecall(recalls, maker, inode);
                assertThat(foreign.isDone()).isFalse();
                maker.giveBack(1, inode).get();
                assertThat(of(foreign).status().ok()).isTrue();
            } finally {
                elsewhere.close();
            }
        }
    }

    @Test
    void aListingWithoutAttributesDoesNotWait() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession other = asking(group);
            file(maker, "a");
            ReadDirRequest names =
                    ReadDirRequest.newBuilder().setInode(1).setLeaseSession(other.id()).build();
            assertThat(of(ask(group, Method.READ_DIR, names, ReadDirReply.parser())).get())
                    .satisfies(r -> assertThat(r.getEntriesList()).isNotEmpty());
            assertThat(recalls).isEmpty();
        }
    }

    @Test
    void closingItEndsIt() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            maker.mutate(TestSession.chmod(inode, MODE));
            maker.mutate(TestSession.release(inode));
            assertThat(of(asked).get().getAttr().getMode()).isEqualTo(MODE);
            long second = file(maker, "b");
            maker.mutate(TestSession.release(second));
            List<DelegationRecall> recalls = record(group);
            assertThat(of(look(other, second)).status().ok()).isTrue();
            assertThat(recalls).isEmpty();
        }
    }

    /** Between the execution of a create and its answer nobody has to be asked. */
    @Test
    void whatIsAskedForBeforeTheCreateIsAnsweredIsNotDelegated() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, "[raft]\nleader_lease = \"5s\"\n")) {
            group.awaitServing();
            TestSession maker = holder(group);
            TestSession other = asking(group);
            // The answer waits until this name is forgotten.
            LookupReply missing =
                    group.call(
                                    Method.LOOKUP,
                                    TestSession.lookupRequest("a").toBuilder()
                                            .setLeaseSession(other.id())
                                            .build(),
                                    LookupReply.parser())
                            .get();
            assertThat(missing.getMissingLeaseMicros()).isPositive();
            CompletableFuture<Answer<MutateReply>> creation =
                    maker.send(1, maker.batch(maker.next++, TestSession.create("a", true)));
            Attr seen =
                    Awaitility.await()
                            .until(
                                    () ->
                                            group.call(
                                                            Method.LOOKUP,
                                                            TestSession.lookupRequest("a")
                                                                    .toBuilder()
                                                                    .setLeaseSession(other.id())
                                                                    .build(),
                                                            LookupReply.parser())
                                                    .get()
                                                    .getAttr(),
                                    attr -> attr.getInode() != 0);
            boolean early = !creation.isDone();
            MutationResult made = of(creation).get().getResults(0);
            assertThat(made.getAttr().getInode()).isEqualTo(seen.getInode());
            if (early) {
                assertThat(made.getDelegation()).isZero();
            }
        }
    }

    // ---- what is returned when

    @Test
    void whatIsReturnedOfAnotherTermOrAnOlderRoundCountsForNothing() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession other = asking(group);
            maker.announce(2).get();
            long inode = made(maker, "a").getAttr().getInode();
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            awaitRecall(recalls, maker, inode);
            Answer<ReturnDelegationsReply> old =
                    group.ask(
                            1,
                            Method.RETURN_DELEGATIONS,
                            maker.returned(2).setTerm(maker.term + 1).addInodes(inode).build(),
                            ReturnDelegationsReply.parser());
            assertThat(old.status().advice()).isEqualTo(Advice.RETRY);
            maker.giveBack(maker.returned(1).setAll(true)).get();
            maker.giveBack(1, inode).get();
            assertThat(of(look(maker, inode)).status().ok()).isTrue();
            assertThat(asked.isDone()).isFalse();
            maker.giveBack(2, inode).get();
            assertThat(of(asked).status().ok()).isTrue();
        }
    }

    @Test
    void aSessionThatIsOverCannotReturnAnything() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = holder(group);
            Answer<ReturnDelegationsReply> refused =
                    maker.giveBack(maker.returned(1).setSession(maker.id() + 100).setAll(true));
            assertThat(refused.status().advice()).isEqualTo(Advice.FENCED);
        }
    }

    // ---- another leader

    private static int otherLeader(TestGroup group) throws Exception {
        int leader = group.awaitServing();
        group.stop(leader);
        return leader;
    }

    @Test
    void aNewLeaderTakesWhatASessionHoldsOpenForDelegatedUntilItHasTold() throws Exception {
        try (TestGroup group = group(3)) {
            TestSession maker = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            long closed = file(maker, "b");
            maker.mutate(TestSession.release(closed));
            int stopped = otherLeader(group);
            group.awaitServing();
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            assertThat(of(look(other, closed)).status().ok()).isTrue();
            assertThat(of(look(maker, inode)).status().ok()).isTrue();
            maker.mutate(TestSession.chmod(inode, MODE));
            assertThat(asked.isDone()).isFalse();
            assertThat(made(maker, "c").getDelegation()).isZero();
            maker.announce(2).get();
            assertThat(of(asked).get().getAttr().getMode()).isEqualTo(MODE);
            assertThat(made(maker, "d").getDelegation()).isEqualTo(2);
            group.start(stopped);
        }
    }

    @Test
    void aNewLeaderRefusesAfterAWhileAndIsAskedAgain() throws Exception {
        try (TestGroup group = group(3)) {
            TestSession maker = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            otherLeader(group);
            Answer<GetAttrReply> refused = of(look(other, inode));
            assertThat(refused.status().errno()).isEqualTo(Errno.EAGAIN);
            assertThat(refused.status().advice()).isEqualTo(Advice.RETRY);
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            maker.mutate(TestSession.release(inode));
            maker.announce(2).get();
            assertThat(of(asked).status().ok()).isTrue();
        }
    }

    /** Until it is answered its session may open and close what it finds, with greater numbers. */
    @Test
    void aLookUpThatHasToWaitOpensNothing() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession other = asking(group);
            other.reclaim(1, 0).get();
            long inode = file(maker, "a");
            CompletableFuture<Answer<LookupReply>> asked =
                    ask(group, Method.LOOKUP, other.opening("a", 1, 1), LookupReply.parser());
            awaitRecall(recalls, maker, inode);
            maker.giveBack(1, inode).get();
            LookupReply found = of(asked).get();
            assertThat(found.getAttr().getInode()).isEqualTo(inode);
            assertThat(found.getOpened()).isZero();
            assertThat(group.status().getSessionsList())
                    .filteredOn(session -> session.getSession() == other.id())
                    .allMatch(session -> session.getOpenFiles() == 0);
        }
    }

    // ---- silence

    @Test
    void aSilentSessionThatOthersWaitForIsEvicted() throws Exception {
        try (TestGroup group = group(1)) {
            List<DelegationRecall> recalls = record(group);
            TestSession maker = holder(group);
            TestSession idle = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            file(idle, "b");
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            awaitRecall(recalls, maker, inode);
            group.advance(1, TimeUnit.SECONDS.toNanos(16));
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> group.status().getSessionsCount() == 2);
            assertThat(maker.renew().status().advice()).isEqualTo(Advice.FENCED);
            assertThat(idle.renew().status().ok()).isTrue();
            assertThat(other.renew().status().ok()).isTrue();
            Answer<GetAttrReply> first = of(asked); // refused, where the clock came first
            Answer<GetAttrReply> answer = first.status().ok() ? first : of(look(other, inode));
            assertThat(answer.get().getAttr().getInode()).isEqualTo(inode);
        }
    }

    @Test
    void oneThatDoesNotTellANewLeaderIsEvictedAsWell() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession maker = holder(group);
            TestSession idle = holder(group);
            TestSession other = asking(group);
            long inode = file(maker, "a");
            file(idle, "b");
            group.stop(1);
            group.start(1);
            group.awaitServing();
            assertThat(other.renew().status().ok()).isTrue(); // it is connected again
            CompletableFuture<Answer<GetAttrReply>> asked = look(other, inode);
            assertThat(other.renew().status().ok()).isTrue();
            assertThat(asked.isDone()).isFalse();
            group.advance(1, TimeUnit.SECONDS.toNanos(16));
            Awaitility.await()
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> group.status().getSessionsCount() == 2);
            assertThat(maker.renew().status().advice()).isEqualTo(Advice.FENCED);
            assertThat(idle.renew().status().ok()).isTrue();
            assertThat(of(look(other, inode)).status().ok()).isTrue();
        }
    }
}
