package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledReply;
import io.cairn.common.proto.ReadRecalledRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Read leases through real servers: what is lent, recalled, and answered when. */
final class ReadRecallsTest {
    /** As long as leases can be: what is checked before they run out mostly is. */
    private static final String LEASE = "[raft]\nleader_lease = \"5s\"\n";

    private static final long TOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

    @TempDir Path directory;

    @Test
    void aNameIsRecalledBeforeItsRemovalIsConfirmed() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, LEASE)) {
            group.awaitServing();
            TestSession maker = new TestSession(group);
            TestSession reader = new TestSession(group);
            TestSession third = new TestSession(group);
            maker.mutate(TestSession.create("a", false));
            List<ReadRecall> recalls = record(group);
            long asked = System.nanoTime();
            Attr lent = lookup(reader, "a").get().getAttr();
            assertThat(lent.getAttrLeaseMicros()).isEqualTo(900_000);
            assertThat(lent.getNameLeaseMicros()).isEqualTo(900_000);

            CompletableFuture<Answer<MutateReply>> removal =
                    maker.send(1, maker.batch(maker.next++, TestSession.unlink("a")));
            ReadRecall recall = first(recalls);
            assertThat(recall.getSession()).isEqualTo(reader.id());
            assertThat(recall.getInodesList()).containsExactly(lent.getInode());
            assertThat(recall.getNamesList()).hasSize(1);
            assertThat(recall.getNames(0).getName().toStringUtf8()).isEqualTo("a");
            CompletableFuture<Answer<LookupReply>> seen =
                    group.send(1, Method.LOOKUP, asked(third, "a"), LookupReply.parser());
            CompletableFuture<Answer<LookupReply>> unnamed =
                    group.send(
                            1, Method.LOOKUP, TestSession.lookupRequest("b"), LookupReply.parser());
            CompletableFuture<Answer<MutateReply>> again =
                    third.send(1, third.batch(third.next++, TestSession.unlink("a")));
            // Answered after those have arrived, on the same connection.
            assertThat(third.renew().status().ok()).isTrue();
            assertThat(unnamed.get(10, TimeUnit.SECONDS).status().errno()).isEqualTo(Errno.ENOENT);
            boolean anyTold = removal.isDone() || seen.isDone() || again.isDone();
            if (System.nanoTime() - asked < TOLD_NANOS) {
                assertThat(anyTold).as("before the reader has forgotten").isFalse();
            }

            acknowledge(group, recall);
            assertThat(results(removal)).allMatch(r -> r.getErrno() == 0);
            assertThat(seen.get(10, TimeUnit.SECONDS).get().hasAttr()).isFalse();
            assertThat(results(again)).allMatch(r -> r.getErrno() == Errno.ENOENT.number());
        }
    }

    @Test
    void aMissingNameIsLentAndRecalledWhenItIsMade() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, LEASE)) {
            group.awaitServing();
            TestSession maker = new TestSession(group);
            TestSession reader = new TestSession(group);
            List<ReadRecall> recalls = record(group);
            LookupReply missing = lookup(reader, "a").get();
            assertThat(missing.hasAttr()).isFalse();
            assertThat(missing.getMissingLeaseMicros()).isEqualTo(900_000);
            assertThat(reader.lookup("a").status().errno()).isEqualTo(Errno.ENOENT);

            CompletableFuture<Answer<MutateReply>> creation =
                    maker.send(1, maker.batch(maker.next++, TestSession.create("a", false)));
            ReadRecall recall = first(recalls);
            assertThat(recall.getNames(0).getName().toStringUtf8()).isEqualTo("a");
            LookupReply now = lookup(reader, "a").get();
            assertThat(now.hasAttr()).as("its own recall keeps nothing from it").isTrue();
            assertThat(now.getAttr().getNameLeaseMicros()).isZero();
            acknowledge(group, recall);
            assertThat(results(creation)).allMatch(r -> r.getErrno() == 0);
        }
    }

    @Test
    void whoMakesAFileIsLentItUnlessTheAnswerIsRepeated() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, LEASE)) {
            group.awaitServing();
            TestSession maker = new TestSession(group);
            MutateRequest first = maker.batch(maker.next++, TestSession.create("a", false));
            Attr before = maker.mutate(first).get().getResults(0).getAttr();
            assertThat(before.getAttrLeaseMicros()).as("it has not asked for any").isZero();
            lookup(maker, "other");
            MutateRequest second = maker.batch(maker.next++, TestSession.create("b", false));
            Attr made = maker.mutate(second).get().getResults(0).getAttr();
            assertThat(made.getAttrLeaseMicros()).isEqualTo(900_000);
            assertThat(made.getNameLeaseMicros()).isEqualTo(900_000);
            Attr repeated = maker.mutate(second).get().getResults(0).getAttr();
            assertThat(repeated.getAttrLeaseMicros()).isZero();
            assertThat(repeated.getNameLeaseMicros()).isZero();
            assertThat(group.fatal).hasNullValue();
        }
    }

    /** What another session may answer for itself: that there are none. */
    @Test
    void thatThereAreNoXattrsIsLentAndRecalledWhenOneIsSet() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, LEASE)) {
            group.awaitServing();
            TestSession maker = new TestSession(group);
            TestSession setter = new TestSession(group);
            lookup(maker, "other").get();
            List<ReadRecall> recalls = record(group);
            MutationResult created = maker.mutate(TestSession.create("a", false));
            Attr made = created.getAttr();
            assertThat(made.getNoXattrs()).isTrue();
            assertThat(made.getAttrLeaseMicros()).isEqualTo(900_000);
            Attr directory = maker.mutate(TestSession.mkdir("d")).getAttr();
            assertThat(directory.getNoXattrs()).isTrue();
            assertThat(lookup(maker, "a").get().getAttr().getNoXattrs()).isTrue();

            long asked = System.nanoTime();
            assertThat(lookup(maker, "a").get().getAttr().getAttrLeaseMicros()).isPositive();
            Mutation set =
                    TestSession.setXattr(
                            made.getInode(), "user.a", ByteString.copyFromUtf8("value"));
            CompletableFuture<Answer<MutateReply>> setting =
                    setter.send(1, setter.batch(setter.next++, set));
            ReadRecall recall = first(recalls);
            assertThat(recall.getSession()).isEqualTo(maker.id());
            assertThat(recall.getInodesList()).containsExactly(made.getInode());
            assertThat(setter.renew().status().ok()).isTrue();
            boolean told = setting.isDone();
            if (System.nanoTime() - asked < TOLD_NANOS) {
                assertThat(told).as("before the maker has forgotten").isFalse();
            }
            acknowledge(group, recall);
            assertThat(results(setting)).allMatch(r -> r.getErrno() == 0);
            assertThat(lookup(maker, "a").get().getAttr().getNoXattrs()).isFalse();
            MutationResult opened = maker.mutate(TestSession.open(made.getInode()));
            assertThat(opened.getAttr().getNoXattrs()).isFalse();
        }
    }

    @Test
    void aServerThatWasAloneWaitsAfterItsStartUntilWhatItLentIsOver() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, LEASE)) {
            group.awaitServing();
            TestSession session = new TestSession(group);
            lookup(session, "a").get();
            group.stop(1);
            long started = System.nanoTime();
            group.start(1);
            group.awaitServing();
            assertThat(System.nanoTime() - started)
                    .as("however slow this machine is")
                    .isGreaterThan(TimeUnit.MILLISECONDS.toNanos(1_020));
            assertThat(session.mutate(TestSession.create("a", false)).getErrno()).isZero();
        }
    }

    private static List<MutationResult> results(CompletableFuture<Answer<MutateReply>> answer)
            throws Exception {
        return answer.get(10, TimeUnit.SECONDS).get().getResultsList();
    }

    private static ReadRecall first(List<ReadRecall> recalls) {
        Awaitility.await().until(() -> !recalls.isEmpty());
        return recalls.getFirst();
    }

    private static List<ReadRecall> record(TestGroup group) {
        return group.record(Method.READ_RECALL, head -> Heads.parse(ReadRecall.parser(), head));
    }

    private static void acknowledge(TestGroup group, ReadRecall recall) {
        ReadRecalledRequest told =
                ReadRecalledRequest.newBuilder()
                        .setSession(recall.getSession())
                        .addNumbers(recall.getNumber())
                        .build();
        group.call(Method.READ_RECALLED, told, ReadRecalledReply.parser()).get();
    }

    private static LookupRequest asked(TestSession session, String name) {
        return TestSession.lookupRequest(name).toBuilder().setLeaseSession(session.id()).build();
    }

    private static Answer<LookupReply> lookup(TestSession session, String name) {
        return session.group.call(Method.LOOKUP, asked(session, name), LookupReply.parser());
    }
}
