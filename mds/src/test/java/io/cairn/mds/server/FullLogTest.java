package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.GetXattrReply;
import io.cairn.common.proto.GetXattrRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.server.TestGroup.Answer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The disk of the Raft log, and that of the database, run full under a real process: first only
 * what frees space is taken, then the process stops with one message, and nothing it acknowledged
 * is lost.
 */
final class FullLogTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long SEED = TestSeed.of("FullLogTest");
    private static final int VALUE_BYTES = 60_000;
    private static final int FILES = 1000;
    private static final String NAME = "user.value";
    private static final long MIB = 1 << 20;

    /** The limits as good as off: the disk itself says no. */
    private static final String NO_LIMITS =
            """
            [raft]
            soft_space_limit = "0B"
            hard_space_limit = "0B"
            checkpoint_entries = 100
            """;

    @TempDir Path directory;

    private final Random random = new Random(SEED);

    private static Mutation rename(long from, String name, long to, String newName) {
        return TestSession.mutation()
                .setRename(
                        RenameOp.newBuilder()
                                .setParent(from)
                                .setName(ByteString.copyFromUtf8(name))
                                .setNewParent(to)
                                .setNewName(ByteString.copyFromUtf8(newName)))
                .build();
    }

    @Test
    void belowTheSoftLimitDeletionsAreTakenAndBelowTheHardOneTheServerStops() throws Exception {
        String settings =
                """
                [raft]
                soft_space_limit = "40MiB"
                hard_space_limit = "16MiB"
                """;
        try (SmallDisk disk = new SmallDisk(directory.resolve("mds-1"), 96);
                TestGroup group = TestGroup.ofOneProcess(directory, settings)) {
            MdsProcess process = group.launch(1);
            TestSession session = new TestSession(group, false, true);
            assertThat(session.announce(1).status().ok()).isTrue();
            long file =
                    TestSession.inode(session.mutate(TestSession.create("file", false))).getInode();
            TestSession.inode(session.mutate(TestSession.create("gone", false)));
            TestSession.inode(session.mutate(TestSession.mkdir("kept")));
            MutationResult own = session.mutate(TestSession.create("own", true));
            assertThat(own.getDelegation()).isEqualTo(1);
            Mutation.Builder opened = TestSession.mkdir("mine").toBuilder();
            opened.getMkdirBuilder().setOpen(true);
            MutationResult mine = session.mutate(opened.build());
            assertThat(mine.getDelegation()).isEqualTo(1);
            long parent = mine.getAttr().getInode();
            Mutation.Builder within = TestSession.create("a", false).toBuilder();
            within.getCreateBuilder().setParent(parent);
            TestSession.inode(session.mutate(within.build()));

            disk.leaveFree(28 * MIB);
            awaitErrno(session, Errno.ENOSPC);
            assertThat(errno(session.mutate(TestSession.create("new", true))))
                    .isEqualTo(Errno.ENOSPC);
            assertThat(errno(session.mutate(TestSession.raiseCeiling(file, 1L << 30))))
                    .isEqualTo(Errno.ENOSPC);
            assertThat(errno(session.mutate(TestSession.chmod(file, 0600))))
                    .isEqualTo(Errno.ENOSPC);
            assertThat(errno(session.mutate(TestSession.chmod(own.getAttr().getInode(), 0600))))
                    .as("its program was told that it is done")
                    .isEqualTo(Errno.OK);
            assertThat(errno(session.mutate(rename(parent, "a", parent, "b"))))
                    .as("so was one that has renamed where names are delegated to it")
                    .isEqualTo(Errno.OK);
            assertThat(errno(session.mutate(rename(parent, "b", TestSession.ROOT, "b"))))
                    .isEqualTo(Errno.ENOSPC);
            assertThat(errno(session.mutate(TestSession.unlink("gone")))).isEqualTo(Errno.OK);
            assertThat(errno(session.mutate(TestSession.open(file)))).isEqualTo(Errno.OK);
            assertThat(errno(session.mutate(TestSession.truncate(file, 0)))).isEqualTo(Errno.OK);
            assertThat(errno(session.mutate(TestSession.release(file)))).isEqualTo(Errno.OK);
            assertThat(group.status().getWarningsList())
                    .anyMatch(w -> w.contains("file system of the Raft log"));

            disk.makeRoom();
            awaitErrno(session, Errno.OK);
            disk.leaveFree(4 * MIB);
            assertThat(process.awaitEnd()).isEqualTo(1);
            assertThat(process.lastWords())
                    .singleElement()
                    .asString()
                    .contains("are free for the Raft log in " + directory.resolve("mds-1"))
                    .contains("make room and start this server again");
            MdsProcess refused = group.launch(1);
            assertThat(refused.awaitEnd()).isEqualTo(1);
            assertThat(refused.refusal())
                    .singleElement()
                    .asString()
                    .contains("make room and start this server again");

            disk.makeRoom();
            group.launch(1);
            assertThat(session.lookup("kept").status().ok()).isTrue();
            assertThat(session.lookup("gone").status().errno()).isEqualTo(Errno.ENOENT);
            assertThat(session.lookup("new").status().errno()).isEqualTo(Errno.ENOENT);
            TestSession.inode(session.mutate(TestSession.mkdir("after")));
        }
    }

    /** It writes its log until the hard limit, and then it stops. */
    @Test
    void aFollowersDiskThatRunsFullIsAWarningWithItsName() throws Exception {
        String settings =
                """
                [raft]
                soft_space_limit = "40MiB"
                hard_space_limit = "16MiB"
                """;
        try (SmallDisk one = new SmallDisk(directory.resolve("mds-1"), 96);
                SmallDisk two = new SmallDisk(directory.resolve("mds-2"), 96);
                SmallDisk three = new SmallDisk(directory.resolve("mds-3"), 96);
                TestGroup group = new TestGroup(directory, 3, settings)) {
            int leader = group.awaitServing();
            int follower = leader % 3 + 1;
            SmallDisk full = List.of(one, two, three).get(follower - 1);
            full.leaveFree(28 * MIB);
            await().atMost(PATIENCE)
                    .untilAsserted(() ->
                            assertThat(ofLogs(group))
                                    .singleElement()
                                    .asString()
                                    .startsWith("MDS member " + follower + " (127.0.0.1:")
                                    .containsPattern("has only 2\\d\\.\\d MiB free")
                                    .contains("below 16.0 MiB it stops"));
            full.makeRoom();
            await().atMost(PATIENCE).until(() -> ofLogs(group).isEmpty());
        }
    }

    private static List<String> ofLogs(TestGroup group) {
        return group.status().getWarningsList().stream()
                .filter(w -> w.contains("Raft log"))
                .toList();
    }

    @Test
    void whenALogWriteFailsNothingAcknowledgedIsLost() throws Exception {
        try (SmallDisk disk = new SmallDisk(directory.resolve("mds-1"), 64);
                TestGroup group = TestGroup.ofOneProcess(directory, NO_LIMITS)) {
            fillUntilItStops(
                    group, disk, "the Raft log could not be written \\(No space left on device");
        }
    }

    @Test
    void whenTheDatabaseCannotWriteNothingAcknowledgedIsLost() throws Exception {
        try (SmallDisk disk = new SmallDisk(directory.resolve("mds-1/namespace"), 32);
                TestGroup group = TestGroup.ofOneProcess(directory, NO_LIMITS)) {
            // By the call that failed, or found once a second where nobody waited for one.
            fillUntilItStops(
                    group,
                    disk,
                    "No space left on device|a flush or compaction failed \\([0-9,]+ bytes are free");
        }
    }

    /**
     * @param culprit regular expression
     */
    private void fillUntilItStops(TestGroup group, SmallDisk disk, String culprit)
            throws IOException {
        MdsProcess process = group.launch(1);
        TestSession session = new TestSession(group);
        List<Long> files = files(session);
        disk.leaveFree(0);
        List<ByteString> acknowledged = new ArrayList<>();
        while (process.isAlive()) {
            byte[] value = new byte[VALUE_BYTES];
            random.nextBytes(value);
            ByteString bytes = ByteString.copyFrom(value);
            long file = files.get(acknowledged.size());
            Answer<MutateReply> answer =
                    firstAnswer(session, process, TestSession.setXattr(file, NAME, bytes));
            if (answer.status().ok()) {
                assertThat(errno(answer.get().getResults(0))).isEqualTo(Errno.OK);
                acknowledged.add(bytes);
                session.next++;
            }
        }
        assertThat(process.awaitEnd()).isEqualTo(1);
        assertThat(process.lastWords()).singleElement().asString().containsPattern(culprit);
        System.out.println(
                acknowledged.size() + " acknowledged before: " + process.lastWords().getFirst());

        disk.makeRoom();
        group.launch(1);
        for (int i = 0; i < acknowledged.size(); i++) {
            assertThat(xattr(group, files.get(i))).isEqualTo(acknowledged.get(i));
        }
        // The number in flight at the end: it was executed, or is now.
        long next = files.get(acknowledged.size());
        MutationResult last = session.mutate(TestSession.setXattr(next, NAME, ByteString.EMPTY));
        assertThat(errno(last)).isEqualTo(Errno.OK);
    }

    private static List<Long> files(TestSession session) {
        Mutation[] creations = new Mutation[FILES];
        for (int i = 0; i < FILES; i++) {
            creations[i] = TestSession.create("f" + i, false);
        }
        MutateReply made = session.mutate(session.batch(session.next, creations)).get();
        session.next += FILES;
        return made.getResultsList().stream()
                .map(result -> TestSession.inode(result).getInode())
                .toList();
    }

    /** Sends once, and waits no longer than the process lives. */
    private static Answer<MutateReply> firstAnswer(
            TestSession session, MdsProcess process, Mutation mutation) {
        var sent = session.send(1, session.batch(session.next, mutation));
        await().atMost(PATIENCE)
                .pollInterval(2, TimeUnit.MILLISECONDS)
                .until(() -> sent.isDone() || !process.isAlive());
        return sent.join();
    }

    private static ByteString xattr(TestGroup group, long file) {
        return group.call(
                        Method.GET_XATTR,
                        GetXattrRequest.newBuilder()
                                .setInode(file)
                                .setName(ByteString.copyFromUtf8(NAME))
                                .build(),
                        GetXattrReply.parser())
                .get()
                .getValue();
    }

    /** The free space is looked at once a second. */
    private static void awaitErrno(TestSession session, Errno wanted) {
        await().atMost(PATIENCE)
                .until(
                        () -> errno(session.mutate(TestSession.mkdir("probe" + session.next))),
                        errno -> errno == wanted);
    }

    private static Errno errno(MutationResult result) {
        return Errno.of(result.getErrno());
    }
}
