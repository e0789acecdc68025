package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.StatFsReply;
import io.cairn.common.proto.StatFsRequest;
import io.cairn.common.rpc.Advice;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that sessions have open for reading, over RPC. */
final class ReadOpenRequestsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    @TempDir Path directory;

    private static long file(TestSession session, String name) {
        return TestSession.inode(session.mutate(TestSession.create(name, false))).getInode();
    }

    private static long inodes(TestGroup group) {
        return group.call(Method.STAT_FS, StatFsRequest.getDefaultInstance(), StatFsReply.parser())
                .get()
                .getInodesUsed();
    }

    private static void awaitInodes(TestGroup group, long expected) {
        await().atMost(PATIENCE).until(() -> inodes(group) == expected);
    }

    private static Errno errno(MutationResult result) {
        return Errno.of(result.getErrno());
    }

    /** An entry that frees files is behind this, if it is to come at all. */
    private static void letTheLeaderFree(TestGroup group, TestSession session, String name) {
        long before = inodes(group);
        file(session, name);
        assertThat(errno(session.mutate(TestSession.unlink(name)))).isEqualTo(Errno.OK);
        awaitInodes(group, before);
    }

    @Test
    void aRemovedFileIsFreedWhenItsLastReaderHasClosedIt() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession other = new TestSession(group);
            assertThat(reader.opened.getReclaims()).isTrue();
            reader.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(other, "f");
            assertThat(reader.openForReading(1, f, 1).get().getAttr().getInode()).isEqualTo(f);
            assertThat(group.status().getSessions(0).getOpenFiles()).isEqualTo(1);
            assertThat(errno(other.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            letTheLeaderFree(group, other, "g");
            assertThat(inodes(group)).isEqualTo(before + 1);
            assertThat(reader.getAttr(f).get().getAttr().getNlink()).isZero();
            // Its reader may have it open once more; nobody else may.
            assertThat(reader.openForReading(1, f, 2).get().getAttr().getNlink()).isZero();
            TestSession third = new TestSession(group, true);
            third.reclaim(1, 0).get();
            assertThat(third.openForReading(1, f, 1).status().errno()).isEqualTo(Errno.ENOENT);
            reader.closeForReading(1, f, 2).get();
            awaitInodes(group, before);
            assertThat(reader.getAttr(f).status().errno()).isEqualTo(Errno.ENOENT);
        }
    }

    @Test
    void aLookUpOpensAFile() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession other = new TestSession(group);
            reader.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(other, "f");
            LookupReply opened = reader.lookup(reader.opening("f", 1, 5));
            assertThat(opened.getOpened()).isEqualTo(5);
            assertThat(opened.getAttr().getInode()).isEqualTo(f);
            assertThat(opened.getAttr().getAttrLeaseMicros()).isPositive();
            assertThat(errno(other.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            letTheLeaderFree(group, other, "g");
            assertThat(inodes(group)).isEqualTo(before + 1);
            assertThat(reader.openForReading(1, f, 6).get().getAttr().getNlink()).isZero();
            reader.closeForReading(1, f, 5).get();
            assertThat(reader.getAttr(f).get().getAttr().getNlink()).isZero();
            reader.closeForReading(1, f, 6).get();
            awaitInodes(group, before);
        }
    }

    /** Whoever has the file open does not hear of the look-up's number, and closes with his own. */
    @Test
    void whatTheSessionHasOpenStaysAsItIs() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession other = new TestSession(group);
            reader.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(other, "f");
            reader.openForReading(1, f, 5).get();
            assertThat(reader.lookup(reader.opening("f", 1, 10)).getOpened()).isZero();
            assertThat(errno(other.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            reader.closeForReading(1, f, 5).get();
            awaitInodes(group, before);
        }
    }

    @Test
    void itOpensNothingElse() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession old = new TestSession(group);
            file(reader, "f");
            reader.mutate(TestSession.mkdir("d"));
            assertThat(reader.lookup(reader.opening("f", 1, 1)).getOpened())
                    .as("before it has reclaimed")
                    .isZero();
            reader.reclaim(1, 0).get();
            assertThat(reader.lookup(reader.opening("f", 2, 2)).getOpened()).isZero();
            assertThat(reader.lookup(reader.opening("d", 1, 3)).getOpened()).isZero();
            assertThat(reader.lookup(reader.opening("none", 1, 4)).hasAttr()).isFalse();
            LookupReply unknown = old.lookup(old.opening("f", 1, 5));
            assertThat(unknown.getOpened()).isZero();
            assertThat(unknown.hasAttr()).isTrue();
            assertThat(group.status().getSessionsList())
                    .allMatch(session -> session.getOpenFiles() == 0);
        }
    }

    @Test
    void aRemovedFileThatNobodyHasOpenIsGoneAtOnce() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession session = new TestSession(group, true);
            session.reclaim(1, 0).get();
            for (int i = 0; i < 100; i++) {
                long f = file(session, "f" + i);
                assertThat(errno(session.mutate(TestSession.unlink("f" + i)))).isEqualTo(Errno.OK);
                // Freed or not: nobody can tell.
                assertThat(session.getAttr(f).status().errno()).isEqualTo(Errno.ENOENT);
                assertThat(session.openForReading(1, f, i + 1).status().errno())
                        .isEqualTo(Errno.ENOENT);
                assertThat(errno(session.mutate(TestSession.open(f)))).isEqualTo(Errno.ENOENT);
                assertThat(errno(session.mutate(TestSession.truncate(f, 5))))
                        .isEqualTo(Errno.ENOENT);
                assertThat(
                                errno(
                                        session.mutate(
                                                TestSession.setXattr(
                                                        f, "user.a", ByteString.EMPTY))))
                        .isEqualTo(Errno.ENOENT);
            }
        }
    }

    @Test
    void aWriterKeepsItAsWell() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession session = new TestSession(group, true);
            session.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(session, "f");
            session.openForReading(1, f, 1).get();
            assertThat(errno(session.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            // As of /proc/self/fd: the session has it open, and now opens it to write.
            assertThat(errno(session.mutate(TestSession.open(f)))).isEqualTo(Errno.OK);
            session.closeForReading(1, f, 1).get();
            letTheLeaderFree(group, session, "g");
            assertThat(session.getAttr(f).get().getAttr().getNlink()).isZero();
            assertThat(session.openForReading(1, f, 2).get().getAttr().getNlink()).isZero();
            assertThat(errno(session.mutate(TestSession.release(f)))).isEqualTo(Errno.OK);
            letTheLeaderFree(group, session, "h");
            assertThat(session.getAttr(f).get().getAttr().getNlink()).isZero();
            session.closeForReading(1, f, 2).get();
            awaitInodes(group, before);
        }
    }

    @Test
    void afterARestartNothingIsFreedBeforeAllHaveReclaimed() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession other = new TestSession(group, true);
            reader.reclaim(1, 0).get();
            other.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(other, "f");
            reader.openForReading(1, f, 1).get();
            assertThat(errno(other.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            group.stop(1);
            group.start(1);
            group.awaitServing();
            assertThat(reader.renew().get().getReclaim()).isTrue();
            long g = file(other, "g");
            assertThat(errno(other.mutate(TestSession.unlink("g")))).isEqualTo(Errno.OK);
            assertThat(refusal(group, reader, 1, f)).isEqualTo(Advice.RETRY);
            other.reclaim(2, 0).get();
            assertThat(other.renew().get().getReclaim()).isFalse();
            assertThat(inodes(group)).isEqualTo(before + 2);
            reader.reclaim(2, 1, f).get();
            assertThat(reader.renew().get().getReclaim()).isFalse();
            awaitInodes(group, before + 1);
            assertThat(reader.getAttr(g).status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(reader.getAttr(f).get().getAttr().getNlink()).isZero();
            reader.closeForReading(2, f, 1).get();
            awaitInodes(group, before);
        }
    }

    private static Advice refusal(TestGroup group, TestSession session, long round, long inode) {
        return group.ask(
                        1,
                        Method.OPEN_FOR_READING,
                        OpenForReadingRequest.newBuilder()
                                .setSession(session.id())
                                .setTerm(session.term)
                                .setRound(round)
                                .setInode(inode)
                                .setNumber(9)
                                .build(),
                        OpenForReadingReply.parser())
                .status()
                .advice();
    }

    @Test
    void anEvictedReaderLetsGoWithItsSession() throws Exception {
        String settings = SETTINGS + "[sessions]\nrenew_interval = \"50ms\"\nexpiry = \"500ms\"\n";
        try (TestGroup group = new TestGroup(directory, 1, settings)) {
            TestSession reader = new TestSession(group, true);
            reader.reclaim(1, 0).get();
            long before = inodes(group);
            long f = file(reader, "f");
            reader.openForReading(1, f, 1).get();
            assertThat(errno(reader.mutate(TestSession.unlink("f")))).isEqualTo(Errno.OK);
            awaitInodes(group, before);
            assertThat(reader.openForReading(1, f, 1).status().advice()).isEqualTo(Advice.FENCED);
        }
    }

    @Test
    void aSessionThatDoesNotReclaimHasNoSuchOpens() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession old = new TestSession(group);
            assertThat(old.opened.getReclaims()).isFalse();
            long f = file(old, "f");
            assertThat(old.openForReading(1, f, 1).status().errno()).isEqualTo(Errno.EOPNOTSUPP);
            group.stop(1);
            group.start(1);
            group.awaitServing();
            // Nobody waits for it.
            letTheLeaderFree(group, old, "g");
        }
    }

    @Test
    void whoCutsAFileThatOthersReadWaitsUntilAllChunksAreCut() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession reader = new TestSession(group, true);
            TestSession writer = new TestSession(group, true);
            reader.reclaim(1, 0).get();
            writer.reclaim(1, 0).get();
            long f = file(writer, "f");
            assertThat(errno(writer.mutate(TestSession.grow(f, 5000)))).isEqualTo(Errno.OK);
            writer.openForReading(1, f, 1).get();
            assertThat(writer.mutate(TestSession.truncate(f, 4000)).getWaitTruncated()).isZero();
            reader.openForReading(1, f, 1).get();
            assertThat(writer.mutate(TestSession.truncate(f, 3000)).getWaitTruncated())
                    .isEqualTo(2);
        }
    }

    @Test
    void ofADirectoryThereIsNone() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession session = new TestSession(group, true);
            session.reclaim(1, 0).get();
            assertThat(session.openForReading(1, 1, 1).status().errno()).isEqualTo(Errno.EINVAL);
            assertThat(session.openForReading(1, 999, 2).status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(group.status().getSessions(0).getOpenFiles()).isZero();
        }
    }
}
