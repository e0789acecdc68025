package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.SizesToldReply;
import io.cairn.common.proto.SizesToldRequest;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.rpc.Heads;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that sessions hold open to write, whose sizes others ask for; through real servers. */
final class WrittenFilesTest {
    private static final long ROOT = 1;

    @TempDir Path directory;

    private TestGroup group(int members) throws Exception {
        TestGroup group = new TestGroup(directory, members, "");
        group.awaitServing();
        return group;
    }

    private static TestSession session(TestGroup group) {
        return new TestSession(group, true, true);
    }

    /** A file that the session has made and holds open; nothing is delegated. */
    private static long file(TestSession writer, String name) {
        return TestSession.inode(writer.mutate(TestSession.create(name, true))).getInode();
    }

    private static void open(TestSession session, long inode) {
        assertThat(
                        session.mutate(
                                        TestSession.mutation()
                                                .setOpen(OpenOp.newBuilder().setInode(inode))
                                                .build())
                                .getErrno())
                .isZero();
    }

    private static List<TellSizes> record(TestGroup group) {
        return group.record(Method.TELL_SIZES, head -> Heads.parse(TellSizes.parser(), head));
    }

    private static GetAttrRequest.Builder request(TestSession asking, long inode) {
        return GetAttrRequest.newBuilder().setInode(inode).setLeaseSession(asking.id());
    }

    private static CompletableFuture<Answer<GetAttrReply>> look(TestSession asking, long inode) {
        return asking.group.send(
                asking.group.awaitServing(),
                Method.GET_ATTR,
                request(asking, inode).build(),
                GetAttrReply.parser(),
                Duration.ofMinutes(1));
    }

    private static Attr of(CompletableFuture<Answer<GetAttrReply>> answer) throws Exception {
        return answer.get(30, TimeUnit.SECONDS).get().getAttr();
    }

    private static TellSizes awaitAsked(List<TellSizes> asked, TestSession writer) {
        return await().until(
                        () ->
                                asked.stream()
                                        .filter(a -> a.getSession() == writer.id())
                                        .findFirst()
                                        .orElse(null),
                        a -> a != null);
    }

    private static void tell(TestSession writer, TellSizes asked) {
        writer.group
                .call(
                        Method.SIZES_TOLD,
                        SizesToldRequest.newBuilder()
                                .setSession(writer.id())
                                .setNumber(asked.getNumber())
                                .build(),
                        SizesToldReply.parser())
                .get();
    }

    @Test
    void whoAsksIsToldWhatEachWriterHasWrittenByThen() throws Exception {
        try (TestGroup group = group(1)) {
            List<TellSizes> asked = record(group);
            TestSession one = session(group);
            TestSession two = session(group);
            TestSession other = session(group);
            long f = file(one, "f");
            open(two, f);
            for (int i = 1; i < 20; i++) {
                asked.clear();
                var looked = look(other, f);
                TellSizes first = awaitAsked(asked, one);
                TellSizes second = awaitAsked(asked, two);
                assertThat(first.getInodesList()).containsExactly(f);
                tell(one, first);
                assertThat(looked).isNotDone();
                one.mutate(TestSession.grow(f, 10 * i));
                tell(two, second);
                Attr attr = of(looked);
                assertThat(attr.getSize()).isEqualTo(10 * i);
                assertThat(attr.getAttrLeaseMicros()).isZero();
            }
        }
    }

    @Test
    void namesListingsAndOpensForReadingAskAsWell() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession writer = session(group);
            TestSession other = session(group);
            other.reclaim(1, 0).get();
            long f = file(writer, "f");
            List<TellSizes> asked = record(group);
            List<CompletableFuture<?>> all =
                    List.of(
                            group.send(
                                    1,
                                    Method.LOOKUP,
                                    TestSession.lookupRequest("f").toBuilder()
                                            .setLeaseSession(other.id())
                                            .build(),
                                    LookupReply.parser()),
                            group.send(
                                    1,
                                    Method.READ_DIR,
                                    ReadDirRequest.newBuilder()
                                            .setInode(ROOT)
                                            .setWithAttributes(true)
                                            .setLeaseSession(other.id())
                                            .build(),
                                    ReadDirReply.parser()),
                            CompletableFuture.supplyAsync(() -> other.openForReading(1, f, 1)));
            await().until(() -> asked.size() == 3);
            assertThat(all).noneMatch(CompletableFuture::isDone);
            List.copyOf(asked).forEach(a -> tell(writer, a));
            for (CompletableFuture<?> each : all) {
                assertThat(((Answer<?>) each.get(30, TimeUnit.SECONDS)).status().ok()).isTrue();
            }
        }
    }

    @Test
    void whoWritesAloneAndWhoAsksForWhatIsPublishedAsksNobody() throws Exception {
        try (TestGroup group = group(1)) {
            List<TellSizes> asked = record(group);
            TestSession writer = session(group);
            TestSession other = session(group);
            long f = file(writer, "f");
            assertThat(of(look(writer, f)).getAttrLeaseMicros()).isPositive();
            Attr published =
                    group.call(
                                    Method.GET_ATTR,
                                    request(other, f).setPublishedOnly(true).build(),
                                    GetAttrReply.parser())
                            .get()
                            .getAttr();
            assertThat(published.getAttrLeaseMicros()).isPositive();
            assertThat(asked).isEmpty();
            writer.mutate(TestSession.release(f));
            look(other, f).get();
            assertThat(asked).isEmpty();
        }
    }

    /** Or who had been lent it would not see what is written. */
    @Test
    void whoIsLentItForgetsItBeforeAnotherHasItOpenToWrite() throws Exception {
        try (TestGroup group = group(1)) {
            TestSession other = session(group);
            TestSession writer = session(group);
            long f = file(other, "f");
            other.mutate(TestSession.release(f));
            assertThat(of(look(other, f)).getAttrLeaseMicros()).isPositive();
            List<ReadRecall> recalls =
                    group.record(
                            Method.READ_RECALL, head -> Heads.parse(ReadRecall.parser(), head));
            open(writer, f); // waits for the recall, or the end of the lease
            assertThat(recalls)
                    .anyMatch(r -> r.getSession() == other.id() && r.getInodesList().contains(f));
        }
    }

    @Test
    void aWriterThatIsSilentDelaysOneQuestionUntilItIsHeardOf() throws Exception {
        try (TestGroup group = group(1)) {
            List<TellSizes> asked = record(group);
            TestSession writer = session(group);
            TestSession other = session(group);
            long f = file(writer, "f");
            of(look(other, f));
            await().until(() -> asked.size() > 1); // again, as it might have got lost
            int before = asked.size();
            of(look(other, f));
            assertThat(asked).hasSize(before);
            writer.renew().get();
            var looked = look(other, f);
            await().until(() -> asked.size() > before);
            tell(writer, asked.getLast());
            of(looked);
        }
    }

    @Test
    void theEndOfAWritersSessionIsAnAnswer() throws Exception {
        try (TestGroup group = group(1)) {
            List<TellSizes> asked = record(group);
            TestSession writer = session(group);
            TestSession other = session(group);
            long f = file(writer, "f");
            var looked = look(other, f);
            awaitAsked(asked, writer);
            group.call(
                            Method.CLOSE_SESSION,
                            CloseSessionRequest.newBuilder().setSession(writer.id()).build(),
                            CloseSessionReply.parser())
                    .get();
            assertThat(of(looked).getInode()).isEqualTo(f);
        }
    }

    @Test
    void aNewLeaderAsks() throws Exception {
        try (TestGroup group = group(3)) {
            TestSession writer = session(group);
            TestSession other = session(group);
            long f = file(writer, "f");
            group.stop(group.awaitServing());
            group.awaitServing();
            List<TellSizes> asked = record(group);
            writer.announce(1).get();
            other.announce(1).get();
            var looked = look(other, f);
            TellSizes ask = awaitAsked(asked, writer);
            writer.mutate(TestSession.grow(f, 100));
            tell(writer, ask);
            assertThat(of(looked).getSize()).isEqualTo(100);
        }
    }
}
